// Makes the button that trains and stops; says how long it takes, and when no kernel answers.
import { button } from "../kit/controls.js";
import { caption, hint, write } from "../kit/element.js";

const PATIENCE = 4000; // milliseconds without a word from the kernel
export const ALONE = "This page has no kernel, so nothing can be trained here. Crosses: what " +
  "recorded runs of such models have reached, looking up 4 vectors.";
export const LATE = "The kernel has not answered for some seconds. It is busy with a cell, or it " +
  "was restarted or has ended: then run this cell again.";
const SETTINGS = ["num_heads", "head_dim", "num_lookups"];

/** @param {import("../kit/mount.js").View} view */
export function trainer(view) {
  const { model } = view;
  const [note, progress] = [hint(model.send ? "" : ALONE), caption()];
  note.setAttribute("role", "status");
  const isTraining = () => Boolean(model.send && model.get("training"));
  let [patience, began] = [0, 0];
  const expectAnswer = () => {
    clearTimeout(patience);
    patience = setTimeout(() => write(note, LATE), PATIENCE);
  };
  const press = () => {
    const settings = Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));
    expectAnswer();
    try {
      model.send?.(isTraining() ? { do: "stop" } : { do: "train", ...settings });
    } catch { // there is nobody any more to send it to
      write(note, LATE);
    }
  };
  const node = button(view, "Train", press);
  node.disabled = !model.send;
  const answered = () => {
    clearTimeout(patience);
    write(note, model.send ? "" : ALONE);
    write(node, isTraining() ? "Stop" : "Train");
    write(progress, isTraining() ? timeLeft(model, began) : "Loss and R² of the last run");
    if (isTraining()) expectAnswer();
  };
  view.onChange(["training"], () => (began = performance.now()));
  view.onChange(["training", "runs", "curve"], answered);
  view.onStop(() => clearTimeout(patience));
  answered();
  return { node, note, progress };
}

/**
 * @param {import("../kit/model.js").Model} model
 * @param {number} began
 */
function timeLeft(model, began) {
  const [steps, done] = [model.get("steps"), model.get("curve").at(-1)?.[0] ?? 0];
  const seconds = (performance.now() - began) / 1000;
  const left = done ? `, about ${Math.ceil((seconds / done) * (steps - done))} s left` : "";
  return `Step ${done} of ${steps}${left}`;
}
