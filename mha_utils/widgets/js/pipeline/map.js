// Draws the numbers of the chosen tensor, row by row, below the names of their heads.
import { hatching, prepare } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { drawFrame } from "../kit/grid.js";
import { fixed } from "../kit/words.js";
import { isFuture } from "./forward.js";
import { levelsOf, scaleOf } from "./scale.js";
import { HEADS_IN_COLUMNS, SHARES } from "./tensors.js";

/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const [LEFT, TOP, TALL] = [30, 44, 30]; // margins and height of a row in CSS pixels

/**
 * The numbers of the chosen tensor, row by row.
 * @param {Canvas} canvas
 * @param {State} state
 * @param {number} width
 * @param {Colours} colours
 */
export function drawMap(canvas, state, width, colours) {
  const { rows, columns, row, column } = state;
  const cell = Math.min(Math.floor((width - LEFT - 2) / columns), 46);
  const pen = prepare(canvas, LEFT + columns * cell + 2, TOP + rows * TALL + 2);
  canvas.place = { left: LEFT, top: TOP, cell, tall: TALL, rows, columns };
  writeEdges(pen, state, cell, colours.ink);
  drawCells(pen, state, cell, colours);
  drawFrame(pen, colours, [LEFT + column * cell, TOP + row * TALL, cell - 1, TALL - 1]);
}

/**
 * @param {Pen} pen
 * @param {State} state
 * @param {number} cell
 * @param {Colours} colours
 */
function drawCells(pen, state, cell, colours) {
  const { name, columns } = state;
  const matrix = state.matrixOf(name);
  const [scale, levels] = [scaleOf(name), levelsOf(name, matrix)];
  const hatch = hatching(pen, colours);
  pen.font = `${cell >= 36 ? 12 : 10}px sans-serif`;
  matrix.forEach((value, n) => {
    const [x, y] = [LEFT + (n % columns) * cell, TOP + Math.floor(n / columns) * TALL];
    const hidden = isHidden(state, n);
    pen.fillStyle = hidden ? hatch : scale.css[levels[n]];
    pen.fillRect(x, y, cell - 1, TALL - 1);
    if (cell < 24 || (hidden && name !== "masked")) return;
    pen.fillStyle = hidden ? colours.ink : scale.ink[levels[n]];
    const text = isDropped(state, n) ? "×" : fixed(value, cell >= 40 ? 2 : 1);
    pen.fillText(text, x + cell / 2, y + TALL / 2);
  });
}

/**
 * @param {State} state
 * @param {number} n
 */
function isHidden({ name, causal, columns }, n) {
  return causal && ["masked", ...SHARES].includes(name) && isFuture(n, columns);
}

/**
 * @param {State} state
 * @param {number} n
 */
function isDropped({ name, sequence, head, sizes: { H, T }, isGone }, n) {
  return name === "dropped" && isGone((sequence * H + head) * T * T + n);
}

/**
 * Numbers of rows and columns, and the heads that columns belong to.
 * @param {Pen} pen
 * @param {State} state
 * @param {number} cell
 * @param {string} ink
 */
function writeEdges(pen, state, cell, ink) {
  const { name, rows, columns, row, column, sizes, head, hasHeads } = state;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  /** @type {(text: string | number, isBold: boolean, x: number, y: number) => void} */
  const write = (text, isBold, x, y) => {
    pen.fillStyle = ink;
    pen.font = `${isBold ? "bold " : ""}12px sans-serif`;
    pen.fillText(String(text), x, y);
  };
  for (let i = 0; i < rows; i += 1) write(i, i === row, LEFT - 14, TOP + (i + 0.5) * TALL);
  for (let j = 0; j < columns; j += 1) write(j, j === column, LEFT + (j + 0.5) * cell, TOP - 16);
  if (!hasHeads && !HEADS_IN_COLUMNS.includes(name)) return;
  const strips = hasHeads ? [head] : Array.from({ length: sizes.H }, (_, h) => h);
  const wide = (columns / strips.length) * cell;
  strips.forEach((h, i) => {
    pen.fillStyle = headColour(h);
    pen.fillRect(LEFT + i * wide, TOP - 7, wide - 1, 5);
    write(wide > 46 ? `head ${h}` : h, false, LEFT + (i + 0.5) * wide, TOP - 34);
  });
}
