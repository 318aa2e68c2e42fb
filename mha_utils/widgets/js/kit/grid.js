// Draws a grid of cells with words for rows and columns, and finds the cell under the pointer.
import THEME from "./theme.json" with { type: "json" };
import { penOf, prepare, writeTurned } from "./canvas.js";
import { inkOn } from "./colour.js";
import { asLabel } from "./words.js";

/** @typedef {import("./canvas.js").Canvas} Canvas */
/** @typedef {import("./canvas.js").Pen} Pen */

/**
 * Where a grid lies in its canvas, in CSS pixels: `cell` is the width of a cell, `tall` its height.
 * @typedef {{ left: number, top: number, cell: number, tall?: number, rows: number, columns: number }}
 *   Place
 */

/**
 * @typedef {object} Cell
 * @property {string | CanvasPattern} fill
 * @property {string} [text]
 * @property {string | null} [ink]
 * @property {boolean} [frame]
 */

/**
 * @typedef {object} Grid
 * @property {string[]} rows a word for every row
 * @property {string[]} columns
 * @property {(row: number, column: number) => Cell} cellAt
 * @property {string} ink of the words
 * @property {number} [row] that is marked
 * @property {number} [column] whose word is bold
 * @property {string[]} [ends] written behind the rows
 * @property {string} [end] the name of `ends`
 */

/**
 * Draw a grid of cells with a word for every row and column, as wide as its panel allows.
 * Where the cells lie is kept in `canvas.place`.
 * @param {Canvas} canvas
 * @param {Grid} grid
 */
export function drawGrid(canvas, grid) {
  const { cellAt, ink, row = -1, ends = [], end = "" } = grid;
  const [rows, columns] = [grid.rows, grid.columns].map((words) => words.map(asLabel));
  const place = placeFor(canvas, rows, columns, ends.length ? [end, ...ends] : []);
  const { left, top, cell, width } = place;
  const pen = prepare(canvas, width, top + rows.length * cell + 2);
  canvas.place = place;
  writeWords(pen, { ...grid, rows, columns }, place);
  pen.textAlign = "right";
  if (ends.length) pen.fillText(end, width - 2, top - 12);
  ends.forEach((text, i) => pen.fillText(text, width - 2, top + (i + 0.5) * cell));
  pen.font = `${cell < 34 ? 10.5 : 12}px sans-serif`;
  pen.textAlign = "center";
  for (let i = 0; i < rows.length; i += 1) {
    for (let j = 0; j < columns.length; j += 1) {
      drawCell(pen, cellAt(i, j), left + j * cell, top + i * cell, cell);
    }
  }
  outline(pen, ink, [left, top, columns.length * cell, rows.length * cell], cell);
  if (row < 0) return;
  pen.strokeStyle = THEME.mark;
  pen.lineWidth = 2.5;
  pen.strokeRect(left, top + row * cell, columns.length * cell, cell);
}

/**
 * @param {Canvas} canvas
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {string[]} ends
 */
function placeFor(canvas, rows, columns, ends) {
  const pen = penOf(canvas);
  pen.font = "bold 13px sans-serif";
  /** @param {string[]} words */
  const widest = (words) => Math.ceil(Math.max(0, ...words.map((w) => pen.measureText(w).width)));
  const [left, top] = [widest(rows) + 8, widest(columns) + 8];
  const right = ends.length ? widest(ends) + 10 : 2;
  const room = (canvas.parentElement?.clientWidth || 420) - left - right;
  const cell = Math.max(Math.min(Math.floor(room / columns.length), 44), 8);
  const width = left + columns.length * cell + right;
  return { left, top, cell, width, rows: rows.length, columns: columns.length };
}

/**
 * @param {Pen} pen
 * @param {Grid} grid
 * @param {Place} place
 */
function writeWords(pen, { rows, columns, row, column, ink }, { left, top, cell }) {
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  /** @type {(isBold: boolean, align: CanvasTextAlign) => void} */
  const wear = (isBold, align) => {
    pen.font = `${isBold ? "bold " : ""}${Math.min(13, cell)}px sans-serif`;
    pen.textAlign = align;
  };
  rows.forEach((word, i) => {
    wear(i === row, "right");
    pen.fillText(word, left - 6, top + (i + 0.5) * cell);
  });
  columns.forEach((word, j) => {
    wear(j === column, "left");
    writeTurned(pen, word, left + (j + 0.5) * cell, top - 6);
  });
}

/**
 * @param {Pen} pen
 * @param {Cell} cell
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawCell(pen, { fill, text, ink, frame }, x, y, size) {
  pen.fillStyle = fill;
  pen.fillRect(x + 1, y + 1, size - 1, size - 1); // whole pixels; the first is that of the outline
  const inkHere = ink ?? (typeof fill === "string" ? inkOn(fill) : "#000000");
  if (frame) {
    pen.strokeStyle = inkHere;
    pen.lineWidth = 2;
    pen.strokeRect(x + 3, y + 3, size - 5, size - 5);
  }
  if (!text || pen.measureText(text).width > size - 3) return;
  pen.fillStyle = inkHere;
  pen.fillText(text, x + size / 2, y + size / 2 + 0.5);
}

/**
 * Thin lines around a map, or around all of its cells: one of 0 has the colour of the page.
 * @param {Pen} pen
 * @param {string} ink
 * @param {number[]} box left, top, width, height
 */
export function outline(pen, ink, [x, y, width, height], cell = Math.max(width, height)) {
  pen.save();
  pen.globalAlpha = 0.3;
  pen.lineWidth = 1;
  pen.strokeStyle = ink;
  pen.beginPath();
  for (let across = 0.5; across <= width + 0.5; across += cell) {
    pen.moveTo(x + across, y);
    pen.lineTo(x + across, y + height);
  }
  for (let down = 0.5; down <= height + 0.5; down += cell) {
    pen.moveTo(x, y + down);
    pen.lineTo(x + width, y + down);
  }
  pen.stroke();
  pen.restore();
}

/**
 * A double line around a cell, seen on dark and on light colours.
 * @param {Pen} pen
 * @param {{ ink: string, paper: string }} colours
 * @param {number[]} box left, top, width, height
 */
export function drawFrame(pen, { ink, paper }, [x, y, width, height]) {
  pen.lineWidth = 3;
  pen.strokeStyle = ink;
  pen.strokeRect(x, y, width, height);
  if (Math.min(width, height) < 8) return;
  pen.lineWidth = 1.5;
  pen.strokeStyle = paper;
  pen.strokeRect(x + 2, y + 2, width - 4, height - 4);
}

/**
 * The cell of a drawn grid under the pointer as [row, column], or null.
 * @param {Canvas} canvas
 * @param {PointerEvent} event
 */
export function cellUnder(canvas, event) {
  const { left, top, cell, tall = cell, rows, columns } = canvas.place;
  const row = Math.floor((event.offsetY - top) / tall);
  const column = Math.floor((event.offsetX - left) / cell);
  return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
}
