// Computes weights and leaks under the painted mask, and describes them in words.
import { dot, rowsOf, softmax } from "../kit/arithmetic.js";
import { floats, traitUpTo } from "../kit/model.js";
import { mostAt } from "../kit/words.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof products>} Sent */
/** @typedef {ReturnType<typeof compute>} State */

/** @param {Model} model */
export function compute(model, sent = products(model)) {
  const [length] = model.get("shape");
  /** @type {boolean[]} */
  const allowed = model.get("allowed");
  /** @type {string[]} */
  const words = model.get("tokens");
  /** @type {(row: number, column: number) => boolean} */
  const may = (i, j) => allowed[i * length + j];
  const [row, column] = ["row", "column"].map((name) => traitUpTo(model, name, length - 1));
  const weights = sent.scores.map((scores, i) => softmax(scores, (j) => may(i, j)));
  const influence = weights.map((shares, i) => influenceOn(i, shares, sent));
  return { length, words, allowed, may, weights, row, column, influence };
}

/** All dot products of the vectors that Python sent; painting changes none. @param {Model} model */
export function products(model) {
  const [, headDim, valueDim] = model.get("shape");
  const [q, k] = ["q", "k"].map((name) => rowsOf(floats(model.get(name)), headDim));
  const v = rowsOf(floats(model.get("v")), valueDim);
  /** @type {(a: number[][], b: number[][]) => number[][]} */
  const gram = (a, b) => a.map((x) => b.map((y) => dot(x, y)));
  const scores = gram(q, k).map((row) => row.map((product) => product / Math.sqrt(headDim)));
  return { headDim, valueDim, scores, qq: q.map((x) => dot(x, x)), kk: gram(k, k), vv: gram(v, v) };
}

/**
 * |d out_i / d (q, k, v of token j)| for every j: the size of each block of the derivative.
 * @param {number} i
 * @param {number[]} shares
 * @param {Sent} sent
 */
function influenceOn(i, shares, { headDim, valueDim, qq, kk, vv }) {
  const [keys, values] = [centred(kk, shares), centred(vv, shares)];
  const squared = shares.map((share, j) =>
    share ** 2 * (valueDim + Math.max(values(j, j), 0) * qq[i] / headDim)
  );
  shares.forEach((a, j) =>
    shares.forEach((b, l) => {
      squared[i] += a * b * vv[j][l] * keys(j, l) / headDim; // its query moves all of its weights
    })
  );
  return squared.map((number) => Math.sqrt(Math.max(number, 0)));
}

/**
 * (x_j - m) . (x_l - m) out of products x_j . x_l, where m is the average of x by shares.
 * @param {number[][]} products
 * @param {number[]} shares
 * @returns {(j: number, l: number) => number}
 */
function centred(products, shares) {
  const toMean = products.map((row) => dot(row, shares));
  const mean = dot(toMean, shares);
  return (j, l) => products[j][l] - toMean[j] - toMean[l] + mean;
}

/** @param {State} state */
export function describe({ length, words, allowed, may, weights, row }) {
  const count = allowed.filter(Boolean).length;
  return (
    `${count} of ${length * length} pairs may attend. Row ${row}, “${words[row]}”, ` +
    `${lookOf(words, weights[row], words.filter((_, j) => may(row, j)).length)} ` +
    seersOf(words.filter((_, i) => words.some((__, j) => j > i && may(i, j))).length)
  );
}

/**
 * @param {string[]} words
 * @param {number[]} shares
 * @param {number} keys
 */
function lookOf(words, shares, keys) {
  if (!keys) return "may attend to nothing: its weights and its output are zeros.";
  const best = mostAt(words, shares, keys);
  const most = `${best} (${Math.max(...shares).toFixed(2)}).`;
  if (best === `${keys} keys alike`) return `looks at ${most}`;
  return keys === 1 ? `looks at 1 key only: ${most}` : `looks at ${keys} keys, most at ${most}`;
}

/** @param {number} count */
function seersOf(count) {
  if (!count) return "No query sees the future.";
  return count === 1 ? "1 query sees the future." : `${count} queries see the future.`;
}

/** @param {number} size */
export function short(size) {
  return size.toFixed(size < 9.995 ? 2 : 0);
}

/** The cell that the keys are on, which the sentence leaves out. @param {State} state */
export function cellOf({ row, column, words, may, weights }) {
  const weight = weights[row][column].toFixed(2);
  const how = may(row, column) ? `may attend, weight ${weight}` : "forbidden";
  return `Column ${column}, “${words[column]}”: ${how}.`;
}

/** @param {State} state */
export function leakLabel({ row, words, influence }) {
  const reached = words.flatMap((word, j) => {
    const size = influence[row][j];
    return size > 0 ? [`“${word}” ${short(size)}`] : [];
  });
  return (
    `Leak map. The output of row ${row}, “${words[row]}”, depends on ` +
    `${reached.join(", ") || "no token"}.`
  );
}
