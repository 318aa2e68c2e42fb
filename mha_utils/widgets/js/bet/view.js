// Builds a question with its answers to choose from; says what came of the bet.
import { radios } from "../kit/controls.js";
import { mounted } from "../kit/mount.js";

export default mounted(buildBet);

/** @param {import("../kit/mount.js").View} view */
function buildBet(view) {
  const { model, body } = view;
  const group = radios(view, model.get("question"), "chosen", model.get("choices"));
  body.append(group, view.finding);
  const tell = () => {
    const [chosen, answer] = [model.get("chosen"), model.get("answer")];
    group.disabled = chosen !== "" && answer !== "";
    view.say(sentence(chosen, answer));
  };
  view.onChange(["chosen", "answer"], tell);
  tell();
}

/**
 * @param {string} chosen
 * @param {string} answer
 */
export function sentence(chosen, answer) {
  if (!chosen) return "No bet yet.";
  if (!answer) return `You bet on “${chosen}”. Run on and see.`;
  if (chosen === answer) return `You bet on “${chosen}”, and so it is.`;
  return `You bet on “${chosen}”; it is “${answer}”.`;
}
