// Builds a button that runs its cell and all below, where JupyterLab lets a page do so.
import { button } from "../kit/controls.js";
import { controls } from "../kit/element.js";
import { mounted } from "../kit/mount.js";

const MENU = "After an edit, choose Run ▸ Run Selected Cell and All Below.";
const PAGE =
  "This page is for reading. In JupyterLab, a button in this place runs what you change.";
const COMMAND = "notebook:run-all-below";

/** @typedef {{ execute(name: string): Promise<unknown>, hasCommand(name: string): boolean }} Commands */

export default mounted(buildRunBelow);

/** @param {import("../kit/mount.js").View} view */
function buildRunBelow(view) {
  /** @type {Commands | undefined} */
  const commands = /** @type {any} */ (globalThis).jupyterapp?.commands;
  if (commands?.hasCommand(COMMAND)) {
    // The click has made this cell the selected one: the command runs it and what follows.
    const run = () => void commands.execute(COMMAND);
    view.body.append(controls(button(view, "Run this cell and all below", run)));
  } else {
    view.body.append(view.finding);
    view.say(view.body.closest("[data-mha-view]") ? PAGE : MENU);
  }
}
