// Makes the controls that choose a level, a suspect, a probe and a picture.
import { button, choice, slider } from "../kit/controls.js";
import { setTrait } from "../kit/model.js";
import { read } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {import("./state.js").State} State */

/** @param {View} view */
export function levelChoice(view) {
  const { model } = view;
  /** @type {[number, string, number[]][]} */
  const levels = model.get("levels");
  const titles = levels.map(([, title]) => title);
  const get = () => levels.findIndex(([number]) => number === model.get("level"));
  return choice(view, "level", titles, get, (place) => {
    setTrait(model, "level", levels[place][0]);
    setTrait(model, "suspect", 1);
  });
}

/** @param {View} view */
export function suspectSlider(view) {
  return slider(view, "suspect", "suspect", () => {
    const { order, isFound } = read(view.model);
    /** @param {number} number */
    const format = (number) => `${number} of ${order.length}${isFound ? " ✓ found" : ""}`;
    return { min: 1, max: order.length, format };
  });
}

/** A button for each probe; once pressed it says what the suspect has answered. @param {View} view */
export function probeButtons(view) {
  const nodes = buttons(view, "probes", (n) => ask(view.model, n));
  /** @param {State} state */
  const update = ({ probes, piece, answers, asked }) =>
    nodes.forEach((node, n) => {
      const isKnown = asked.includes(n);
      const answer = answers[piece][n] ? "caught" : "clean";
      node.textContent = isKnown ? `${probes[n]}: ${answer}` : `${probes[n]}?`;
      node.setAttribute("aria-pressed", String(isKnown));
    });
  return { nodes, update };
}

/** A button for each picture; pressed is the one that is shown. @param {View} view */
export function pictureButtons(view) {
  const nodes = buttons(view, "pictures", (n) => look(view.model, n));
  /** @param {State} state */
  const update = ({ probes, pictures, asked, shown, isFound }) =>
    nodes.forEach((node, n) => {
      const [title, isFree] = pictures[n];
      const isOpen = isFree || isFound || asked.includes(probes.length + n);
      node.textContent = isOpen ? title : `${title}?`;
      node.setAttribute("aria-pressed", String(n === shown));
    });
  return { nodes, update };
}

/**
 * @param {View} view
 * @param {string} trait with one entry for each button
 * @param {(place: number) => void} action
 * @returns {HTMLButtonElement[]}
 */
function buttons(view, trait, action) {
  return view.model.get(trait).map((/** @type {any} */ _, /** @type {number} */ n) =>
    button(view, "", () => action(n))
  );
}

/**
 * @param {Model} model
 * @param {number} n
 */
function look(model, n) {
  const { probes, pictures, isFound } = read(model);
  setTrait(model, "picture", n);
  if (!pictures[n][1] && !isFound) ask(model, probes.length + n);
}

/**
 * @param {Model} model
 * @param {number} question
 */
function ask(model, question) {
  const { piece, asked } = read(model);
  if (asked.includes(question)) return;
  setTrait(model, "asked", [...model.get("asked"), [piece, question]]);
}
