// Draws the attention map of the chosen head, with its words and the chosen cell.
import THEME from "../kit/theme.json" with { type: "json" };
import { drawShares, hatching, prepare, roomFor, writeTurned } from "../kit/canvas.js";
import { drawFrame, outline } from "../kit/grid.js";
import { asLabel } from "../kit/words.js";

/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("../kit/grid.js").Place} Place */
/** @typedef {import("./state.js").State} State */

const WIDEST = 380; // the map in CSS pixels, where there is room
export const LABELLED = 20; // up to this many tokens every row and column carries its word

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawMap(canvas, state, colours) {
  drawCells(canvas, state, colours, state.weights, "weights");
}

/**
 * How far the weights of the chosen head are above those of the other one.
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawDifference(canvas, state, colours) {
  const shares = (state.difference ?? new Float32Array()).map((above) => (above + 1) / 2);
  drawCells(canvas, state, colours, shares, "signed");
}

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 * @param {Float32Array} shares
 * @param {"weights" | "signed"} palette
 */
function drawCells(canvas, state, colours, shares, palette) {
  const { length, row, column, locked } = state;
  const room = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, room, room);
  const place = placeIn(pen, state, room);
  const { left, top, cell } = place;
  canvas.place = place;
  if (!length) return;
  drawShares(pen, shares, length, left, top, room - left, palette);
  outline(pen, colours.ink, [left, top, room - left, room - left]);
  if (state.causal) hatchFuture(pen, place, hatching(pen, colours));
  if (length <= LABELLED) writeWords(pen, state, place, colours.ink);
  pen.strokeStyle = THEME.mark;
  pen.lineWidth = locked ? 5 : 2.5;
  pen.strokeRect(left, top + row * cell, room - left, cell);
  const inner = Math.max(cell - 4, 1);
  drawFrame(pen, colours, [left + column * cell + 2, top + row * cell + 2, inner, inner]);
}

/**
 * @param {Pen} pen
 * @param {State} state
 * @param {number} room
 * @returns {Place}
 */
function placeIn(pen, { length, words }, room) {
  pen.font = "13px sans-serif";
  const wide = words.map((word) => pen.measureText(asLabel(word)).width);
  const margin = length <= LABELLED ? Math.ceil(Math.max(...wide, 10)) + 8 : 4;
  const cell = (room - margin) / Math.max(length, 1);
  return { left: margin, top: margin, cell, rows: length, columns: length };
}

/**
 * @param {Pen} pen
 * @param {State} state
 * @param {Place} place
 * @param {string} ink
 */
function writeWords(pen, { words, row, column }, { left, top, cell }, ink) {
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  words.map(asLabel).forEach((word, i) => {
    pen.font = `${i === row ? "bold " : ""}13px sans-serif`;
    pen.textAlign = "right";
    pen.fillText(word, left - 6, top + (i + 0.5) * cell);
    pen.font = `${i === column ? "bold " : ""}13px sans-serif`;
    pen.textAlign = "left";
    writeTurned(pen, word, left + (i + 0.5) * cell, top - 6);
  });
}

/**
 * @param {Pen} pen
 * @param {Place} place
 * @param {CanvasPattern} pattern
 */
function hatchFuture(pen, { left, top, cell, rows }, pattern) {
  pen.fillStyle = pattern;
  pen.beginPath();
  for (let i = 0; i < rows - 1; i += 1) {
    pen.rect(left + (i + 1) * cell, top + i * cell, (rows - 1 - i) * cell, cell);
  }
  pen.fill();
}
