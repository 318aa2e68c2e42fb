// Builds the writer at work: it reads a text of the reader's and goes on with it.
import { label, picture } from "../kit/canvas.js";
import { button, radios, slider, textField } from "../kit/controls.js";
import { caption, controls, hint, panel, scale, write } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { drawBars, drawText } from "./pictures.js";
import { barsLabel, compute, describe, drawn, reader, storyOf, textLabel } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */

const PACE = 30; // milliseconds a letter
const NOTE = "Colours: how much the last letter, which is framed, looks at each of them. " +
  "The whole model runs here, in your browser.";

export default mounted(buildWriterAtWork);

/** @param {View} view */
function buildWriterAtWork(view) {
  const { model, body } = view;
  const [bars, text] = [picture(""), picture("")];
  const read = reader(model);
  view.finding.style.minHeight = "2.9em"; // two lines: nothing jumps while it writes
  const heat = { min: 0.1, max: 3, step: 0.1, format: (/** @type {number} */ t) => t.toFixed(1) };
  body.append(
    controls(storyField(view)),
    controls(
      ...writingButtons(view, () => drawn(compute(model, read))),
      slider(view, "temperature", "temperature", heat),
    ),
    radios(view, "head", "head", model.get("heads")),
    view.finding,
    panel(caption("The likeliest next letters"), bars),
    panel(caption("Where the last letter looks"), text, scale(), hint(NOTE)),
  );
  scene(view, ["text", "head", "temperature"], (colours) => {
    const state = compute(model, read);
    drawBars(bars, state, colours);
    drawText(text, state, colours);
    label(bars, barsLabel(state));
    label(text, textLabel(state));
    view.say(describe(state));
  });
}

/**
 * The text, as wide as the view, with its end in sight while the model writes.
 * @param {View} view
 */
function storyField(view) {
  const node = textField(view, "the text", "text");
  const input = /** @type {HTMLInputElement} */ (node.querySelector("input"));
  node.classList.add("mha-wide");
  view.onChange(["text"], () => {
    if (document.activeElement !== input) input.scrollLeft = input.scrollWidth;
  });
  return node;
}

/**
 * Buttons that write one letter, write to the end or stop that, and go back to what stood in the
 * text before the model wrote.
 * @param {View} view
 * @param {() => string} draw the next letter
 */
function writingButtons(view, draw) {
  const { model } = view;
  let [start, isOwn, timer] = [model.get("text"), false, 0];
  /** @param {string} text */
  const put = (text) => {
    isOwn = true;
    model.set("text", text);
    model.save_changes(); // at once: Python's answer to the letter before must not undo this one
    isOwn = false;
  };
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    write(onward, "write to the end");
  };
  const letter = () => put(storyOf(model).story + draw());
  const goOn = view.guarded(() => {
    letter();
    if (storyOf(model).isDone) stop();
    else timer = setTimeout(goOn, PACE);
  });
  const onward = button(view, "write to the end", () => {
    if (timer) return stop();
    write(onward, "stop");
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) return goOn();
    do letter(); while (!storyOf(model).isDone);
    stop();
  });
  view.onStop(() => clearTimeout(timer));
  view.onChange(["text"], () => {
    if (isOwn) return;
    stop();
    start = model.get("text");
  });
  const one = button(view, "write one letter", () => {
    stop();
    letter();
  });
  return [one, onward, button(view, "begin again", () => (stop(), put(start)))];
}
