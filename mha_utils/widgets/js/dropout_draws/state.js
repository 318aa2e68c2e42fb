// Applies dropout to the weights, averages the draws, and says what was dropped.
import { rowsOf, sum } from "../kit/arithmetic.js";
import { floats } from "../kit/model.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof read>} Sent */
/** @typedef {ReturnType<typeof compute>} State */

/** @param {Model} model */
export function read(model) {
  const [rows, columns] = model.get("shape");
  /** @type {string[]} */
  const keys = model.get("tokens");
  const queries = rows === columns ? keys : Array.from({ length: rows }, (_, i) => `query ${i}`);
  const [weights, uniform] = ["weights", "uniform"].map((name) => floats(model.get(name)));
  return { rows, columns, keys, queries, weights, uniform };
}

/**
 * @param {Model} model
 * @param {Sent} sent
 */
export function compute(model, sent) {
  const draw = Math.max(Math.min(model.get("draw"), model.get("shape")[2]), 1);
  const [p, training] = [model.get("p"), model.get("training")];
  const { present, average } = training
    ? dropped(sent, p, draw)
    : { present: sent.weights, average: sent.weights };
  /** @param {ArrayLike<number>} flat */
  const grid = (flat) => rowsOf(Float64Array.from(flat), sent.columns);
  const maps = { before: grid(sent.weights), present: grid(present), average: grid(average) };
  return { ...sent, p, draw, training, ...maps };
}

/**
 * What draw number `draw` leaves of the weights, and the average of draws 1 to `draw`.
 * @param {Sent} sent
 * @param {number} p
 * @param {number} draw
 */
function dropped({ weights, uniform }, p, draw) {
  const size = weights.length;
  const kept = new Float64Array(size);
  for (let at = 0; at < draw * size; at += 1) if (uniform[at] >= p) kept[at % size] += 1;
  const average = Array.from(weights, (weight, at) => (weight * kept[at]) / (1 - p) / draw);
  const start = (draw - 1) * size;
  const present = Array.from(
    weights,
    (weight, at) => (uniform[start + at] >= p ? weight / (1 - p) : 0),
  );
  return { present, average };
}

/** @param {State} state */
export function describe({ p, draw, training, weights, present, average, before, queries }) {
  if (!training) return "Evaluation: nothing is dropped, whatever p is.";
  /** @param {number[]} numbers */
  const count = (numbers) => numbers.filter((number) => number > 0).length;
  const there = count([...weights]);
  const sums = present.map(sum);
  const lost = queries.filter((_, i) => sums[i] === 0).map((word) => `“${word}”`);
  const off = average.flatMap((row, i) => row.map((a, j) => Math.abs(a - before[i][j])));
  return (
    `p = ${p.toFixed(2)}, draw ${draw}: ${there - count(present.flat())} of ${there} weights ` +
    `dropped, the others times ${(1 / (1 - p)).toFixed(2)}; row sums from ` +
    `${Math.min(...sums).toFixed(2)} to ${Math.max(...sums).toFixed(2)}.` +
    `${lost.length ? ` Lost everything: ${lost.join(", ")}.` : ""} ` +
    `Averaged over ${draw} ${draw === 1 ? "draw" : "draws"}, the weights are off by at most ` +
    `${Math.max(...off).toFixed(2)}.`
  );
}
