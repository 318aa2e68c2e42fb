// Builds the view that follows one query and key in six steps, from products to output.
import { hatching, keyedPicture, penOf } from "../kit/canvas.js";
import { signedHex, weightHex } from "../kit/colour.js";
import { button, checkbox, choice, slider } from "../kit/controls.js";
import {
  caption,
  columns,
  controls,
  eitherScale,
  element,
  hint,
  panel,
  write,
} from "../kit/element.js";
import { drawGrid } from "../kit/grid.js";
import { gridKeys, gridPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { fixed } from "../kit/words.js";
import { liveTable } from "./live_table.js";
import { between, compute, read, STEPS } from "./numbers.js";
import { maskTable, productsTable, softmaxTable, valuesTable } from "./tables.js";
import { describe, titleOf, trimmed } from "./words.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./numbers.js").State} State */

const MAPS = ["The cell we want", "q · k", "Scores q · k / √Dh", "Scores, masked", "Weights"];

export default mounted(buildCellSteps);

/** @param {View} view */
function buildCellSteps(view) {
  const { model, body } = view;
  const map = keyedPicture(view, "Map of queries by keys: arrow keys choose a cell");
  const [title, name, colourScale] = [caption(), caption(), eitherScale()];
  const tables = [productsTable, maskTable, softmaxTable, valuesTable].map(liveTable);
  /** @type {string[]} */
  const words = model.get("words").map((/** @type {string} */ word, /** @type {number} */ place) =>
    `${place} ${word}`
  );
  body.append(
    controls(
      stepper(view),
      ...["query", "key"].map((trait) => choice(view, trait, words)),
      checkbox(view, "causal", "is_causal"),
    ),
    view.finding,
    columns(
      panel(
        name,
        map,
        colourScale.node,
        hint("Click a cell, or move with the arrow keys: query (row) and key (column)."),
      ),
      panel(title, element("div", { class: "mha-stack" }, ...tables.map(({ node }) => node))),
    ),
  );
  chooseCell(view, map);
  let sent = read(model);
  view.onChange(["q", "k", "v"], () => (sent = read(model)));
  const traits = ["query", "key", "step", "is_causal", "allowed", "q", "k", "v"];
  scene(view, traits, (colours) => {
    const state = compute(model, sent);
    drawMap(map, state, colours);
    write(name, MAPS[Math.min(state.step, MAPS.length) - 1]);
    write(title, titleOf(state));
    colourScale.show(state.step >= 5);
    tables.forEach(({ show }, at) => show(at === Math.max(state.step - 3, 0), state));
    view.say(describe(state));
  });
}

/** Previous, a slider, next. @param {View} view */
function stepper(view) {
  const last = STEPS.length;
  /** @type {(text: string, far: number) => HTMLButtonElement} */
  const mover = (text, far) =>
    button(view, text, () => {
      setTrait(view.model, "step", between(view.model.get("step") + far, 1, last));
    });
  const node = slider(view, "step", "step", {
    min: 1,
    max: last,
    format: (step) => `${step} · ${STEPS[step - 1]}`,
  });
  node.input.before(mover("‹ previous", -1));
  node.output.before(mover("next ›", 1));
  node.output.style.minWidth = "6.5em";
  return node;
}

/**
 * Only what is known after the present step; hatched: forbidden.
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
function drawMap(canvas, state, colours) {
  const { words, i, j, step, map, may } = state;
  const { ink } = colours;
  const hatch = hatching(penOf(canvas), colours);
  const most = Math.max(...map.flat().map(Math.abs)) || 1;
  /** @type {import("../kit/grid.js").Grid["cellAt"]} */
  const cellAt = (row, column) => {
    const [number, frame] = [map[row][column], row === i && column === j];
    if (step === 1) return { fill: signedHex(0), text: frame ? "?" : "", frame };
    if (step >= 4 && !may(row, column)) return { fill: hatch, ink, frame };
    if (step >= 5) return { fill: weightHex(number), text: fixed(number), frame };
    return { fill: signedHex(number / most), text: trimmed(number), frame };
  };
  drawGrid(canvas, { rows: words, columns: words, row: i, column: j, ink, cellAt });
}

/**
 * @param {View} view
 * @param {Canvas} map
 */
function chooseCell(view, map) {
  const { model } = view;
  const [length] = model.get("shape");
  /** @type {(row: number, column: number) => void} */
  const set = (row, column) => {
    setTrait(model, "query", row);
    setTrait(model, "key", column);
  };
  const get = () => [model.get("query"), model.get("key")];
  gridKeys(view, map, { size: () => [length, length], get, set });
  gridPointer(view, map, set);
}
