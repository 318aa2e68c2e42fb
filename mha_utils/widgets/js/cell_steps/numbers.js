// Computes every number from the products of one query with the keys to its output.
import { dot, rowsOf, softmax, sum } from "../kit/arithmetic.js";
import { floats } from "../kit/model.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */

export const STEPS = ["products", "sum", "scale", "mask", "softmax", "times v"];

/** @param {Model} model */
export function read(model) {
  const [, headDim, valueDim] = model.get("shape");
  const [q, k, v] = ["q", "k", "v"].map((name) =>
    rowsOf(floats(model.get(name)), name === "v" ? valueDim : headDim)
  );
  return { q, k, v, products: q.map((query) => k.map((key) => dot(query, key))) };
}

/** Every number of the present query, as in `numbers_of` of Python, and the map. @param {Model} model */
export function compute(model, { q, k, v, products: sums } = read(model)) {
  const [length, headDim] = model.get("shape");
  const [i, j] = ["query", "key"].map((name) => between(model.get(name), 0, length - 1));
  const step = between(model.get("step"), 1, STEPS.length);
  /** @type {string[]} */
  const words = model.get("words");
  const [allowed, isCausal] = [model.get("allowed"), model.get("is_causal")];
  /** @type {(row: number, column: number) => boolean} */
  const may = (row, column) => allowed[row * length + column] && !(isCausal && column > row);
  /** @param {number} row */
  const sumsOf = (row) => sums[row];
  /** @param {number} row */
  const scoresOf = (row) => sums[row].map((product) => product / Math.sqrt(headDim));
  /** @param {number} row */
  const weightsOf = (row) => softmax(scoresOf(row), (column) => may(row, column));
  const mapRow = step <= 2 ? sumsOf : step <= 4 ? scoresOf : weightsOf;
  const row = rowOf(scoresOf(i), weightsOf(i), v, (column) => may(i, column));
  return {
    ...{ words, length, headDim, i, j, step, may, query: q[i], key: k[j], values: v, ...row },
    products: q[i].map((x, d) => x * k[j][d]),
    map: sums.map((_, at) => mapRow(at)),
  };
}

/**
 * One query on its way from scores to output.
 * @param {number[]} scores
 * @param {number[]} weights
 * @param {number[][]} values
 * @param {(column: number) => boolean} may
 */
function rowOf(scores, weights, values, may) {
  const masked = scores.map((score, column) => (may(column) ? score : -Infinity));
  const largest = Math.max(...masked);
  const lowered = masked.map((score) => (score === -Infinity ? score : score - largest));
  const parts = weights.map((weight, row) => values[row].map((value) => weight * value));
  const out = parts[0].map((_, d) => sum(parts.map((part) => part[d])));
  return { scores, masked, lowered, powers: lowered.map(Math.exp), weights, parts, out };
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
export function between(value, least, most) {
  return Math.max(Math.min(value, most), least);
}
