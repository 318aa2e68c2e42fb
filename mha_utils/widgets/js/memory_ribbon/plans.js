// Plans where each number stands in the ribbon and in the blocks of the tensor.
import { indexOf } from "./strided.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {{ text: string, x: number, y: number, align?: CanvasTextAlign }} Label */
/**
 * Where each number stands: `places[number]` is [x, y].
 * @typedef {{ places: number[][], labels: Label[], columns: number, width: number, height: number }}
 *   Plan
 */

export const [CELL, GUTTER, WIDTH] = [24, 34, 880]; // CSS pixels
const LINE = CELL + 4;

/**
 * Whole tokens in each line, so that a line has the same length in every step.
 * @param {State} state
 * @param {number} width
 */
export function planRibbon({ sizes: [B, T, H, Dh], tensor: { storage } }, width) {
  const token = H * Dh;
  const fitting = Math.max(Math.floor((width - GUTTER) / CELL / token), 1);
  const columns = token * Math.min(fitting, T);
  const lines = Math.ceil((T * token) / columns);
  const height = B * lines * LINE + (B - 1) * 8;
  /** @type {Plan} */
  const plan = { places: [], labels: [], columns, width, height };
  storage.forEach((number, place) => {
    const [b, within] = [Math.floor(place / (T * token)), place % (T * token)];
    const [line, column] = [Math.floor(within / columns), within % columns];
    const y = (b * lines + line) * LINE + b * 8;
    plan.places[number] = [GUTTER + column * CELL, y];
    if (!column) plan.labels.push(before(place, y + CELL / 2));
  });
  return plan;
}

/**
 * A block for each index before the last two dimensions; a line of blocks per sequence.
 * @param {State} state
 * @param {number} width
 */
export function planTensor({ tensor: { shape }, values, letters }, width) {
  const [rows, columns] = shape.slice(-2);
  const perSequence = shape.length === 4 ? shape[1] : 1;
  const pitch = Math.max(columns * CELL, 80) + 14;
  const block = rows * CELL + 30;
  const wide = Math.min(GUTTER + perSequence * pitch, width);
  /** @type {Plan} */
  const plan = { places: [], labels: [], columns, width: wide, height: shape[0] * block };
  values.forEach((number, n) => {
    const [at, row, column] = indexOf(n, [shape[0] * perSequence, rows, columns]);
    const [b, i] = [Math.floor(at / perSequence), at % perSequence];
    const [x, y] = [GUTTER + i * pitch, b * block + 22];
    plan.places[number] = [x + column * CELL, y + row * CELL];
    if (!row && !column) plan.labels.push({ text: blockName(letters, b, i), x, y: y - 10 });
    if (!column && !i) plan.labels.push(before(row, y + (row + 0.5) * CELL));
  });
  return plan;
}

/**
 * The number of a line, in front of it.
 * @param {number} number
 * @param {number} y
 * @returns {Label}
 */
function before(number, y) {
  return { text: String(number), x: GUTTER - 7, y, align: "right" };
}

/**
 * @param {string} letters
 * @param {number} b
 * @param {number} i
 */
function blockName(letters, b, i) {
  if (letters === "B T H Dh") return `[${b}, ${i}] token ${i}`;
  return letters === "B H T Dh" ? `[${b}, ${i}] head ${i}` : `[${b}] sequence ${b}`;
}
