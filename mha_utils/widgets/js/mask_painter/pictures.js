// Draws the mask with its weights, and the leak map of tokens that reach an output.
import THEME from "../kit/theme.json" with { type: "json" };
import { hatching, penOf } from "../kit/canvas.js";
import { weightHex } from "../kit/colour.js";
import { drawGrid } from "../kit/grid.js";
import { short } from "./state.js";

/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("../kit/grid.js").Grid["cellAt"]} CellAt */
/** @typedef {import("./state.js").State} State */

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawMask(canvas, { words, row, column, may, weights }, colours) {
  const { ink } = colours;
  const hatch = hatching(penOf(canvas), colours);
  /** @type {CellAt} */
  const cellAt = (i, j) => {
    const frame = i === row && j === column;
    if (!may(i, j)) return { fill: hatch, ink, frame };
    return { fill: weightHex(weights[i][j]), text: weights[i][j].toFixed(2), frame };
  };
  drawGrid(canvas, { rows: words, columns: words, row, column, ink, cellAt });
}

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawLeak(canvas, { words, row, influence }, { ink, paper }) {
  const most = Math.max(...influence.flat()) || 1;
  /** @type {CellAt} */
  const cellAt = (i, j) => {
    const size = influence[i][j];
    const fill = j > i ? THEME.warning : weightHex(size / most);
    return size > 0 ? { fill, text: short(size) } : { fill: paper };
  };
  drawGrid(canvas, { rows: words, columns: words, row, ink, cellAt });
}
