// Builds the bug hunt, in which the reader questions wrong modules and names what is wrong.
import { picture } from "../kit/canvas.js";
import { caption, columns, controls, element, hint, panel, scale } from "../kit/element.js";
import { floats } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { accuseControls } from "./accusing.js";
import { showPictures } from "./maps.js";
import { levelChoice, pictureButtons, probeButtons, suspectSlider } from "./questions.js";
import { describe, read } from "./state.js";

export default mounted(buildBugHunt);

/** @param {import("../kit/mount.js").View} view */
function buildBugHunt(view) {
  const { model, body } = view;
  const [right, suspect] = [picture("Right module"), picture("Suspect")];
  const nodes = { right, suspect, who: caption(), meaning: hint(), note: hint() };
  const number = suspectSlider(view);
  const questions = [probeButtons(view), pictureButtons(view)];
  const accusation = accuseControls(view);
  body.append(
    controls(levelChoice(view), number),
    caption("Ask. Each “?” that you press costs a question."),
    buttonRow(
      "probes",
      element("span", { class: "mha-answer" }, "shapes: right"),
      ...questions[0].nodes,
    ),
    caption("Look"),
    buttonRow("pictures", ...questions[1].nodes),
    caption("Accuse"),
    accusation.node,
    view.finding,
    columns(
      panel(caption("The right module"), right, scale("0", "largest"), nodes.meaning),
      panel(nodes.who, suspect, nodes.note),
    ),
  );
  const maps = floats(model.get("maps"));
  scene(view, ["level", "suspect", "picture", "asked", "accused"], (colours) => {
    const state = read(model);
    for (const { update } of [...questions, accusation]) update(state);
    number.update();
    showPictures(nodes, maps, state, colours);
    view.say(describe(state));
  });
}

/**
 * @param {string} name
 * @param {...Node} nodes
 */
function buttonRow(name, ...nodes) {
  return element("div", { class: "mha-asking", role: "group", "aria-label": name }, ...nodes);
}
