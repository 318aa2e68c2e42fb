// Draws the attention map of every head, with squares around the right keys.
import { drawShares, prepare, writeTurned } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { outline } from "../kit/grid.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("./state.js").State} State */
/** @typedef {{ x: number, y: number, size: number }} Box of one map, in CSS pixels */

const [WIDEST, LARGEST, ALONE, GAP, TITLE] = [880, 320, 560, 14, 22]; // CSS pixels
const MARKS = [3, 5, 4, 2]; // apart from each other, and seen on dark and light cells

/**
 * The map of every head, beside each other where there is room.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {string} ink
 */
export function drawMaps(canvas, state, ink) {
  const { heads, weights, length, words, sources, marks } = state;
  const wide = canvas.parentElement?.clientWidth || WIDEST;
  const columns = Math.min(heads.length, wide < 520 ? 1 : 3);
  const measure = prepare(canvas, 1, 1);
  measure.font = "11px sans-serif";
  const margin = Math.ceil(Math.max(...words.map((word) => measure.measureText(word).width))) + 6;
  const largest = heads.length > 1 ? LARGEST : ALONE;
  const size = Math.min(largest, Math.floor(wide / columns) - margin - GAP);
  const [pitch, tall] = [size + margin + GAP, size + margin + TITLE + 8];
  const pen = prepare(canvas, columns * pitch, Math.ceil(heads.length / columns) * tall);
  heads.forEach((head, h) => {
    const [x, y] = [(h % columns) * pitch + margin, Math.floor(h / columns) * tall + TITLE];
    drawShares(pen, weights[h], length, x, y, size);
    outline(pen, ink, [x, y, size, size]);
    writeLabels(pen, head, words, { x, y, size }, ink);
    if (marks) sources.forEach(({ places }, r) => drawMarks(pen, r, places, { x, y, size }));
  });
}

/**
 * @param {Pen} pen
 * @param {string} head
 * @param {string[]} words
 * @param {Box} box
 * @param {string} ink
 */
function writeLabels(pen, head, words, { x, y, size }, ink) {
  const cell = size / words.length;
  const room = size / words.filter(Boolean).length; // letters of one word share a label
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.font = "bold 13px sans-serif";
  pen.fillText(head, x, y - 11);
  pen.font = `${Math.min(11, Math.ceil(room))}px sans-serif`;
  pen.textAlign = "right";
  words.forEach((word, i) => {
    pen.fillText(word, x - 4, y + (i + 0.5) * cell);
    writeTurned(pen, word, x + (i + 0.5) * cell, y + size + 4);
  });
}

/** The colour of a relation in maps and curves. @param {number} r */
export function markColour(r) {
  return headColour(MARKS[r % MARKS.length]);
}

/**
 * A square around the key that has the answer, for every query that has one.
 * @param {Pen} pen
 * @param {number} r
 * @param {number[]} places
 * @param {Box} box
 */
function drawMarks(pen, r, places, { x, y, size }) {
  const cell = size / places.length;
  const inset = Math.min(2.5, cell / 5);
  const side = cell - 2 * inset;
  pen.strokeStyle = markColour(r);
  pen.lineWidth = Math.max(1.2, Math.min(2, cell / 6));
  places.forEach((j, i) => {
    if (j >= 0) pen.strokeRect(x + j * cell + inset, y + i * cell + inset, side, side);
  });
}
