// Fills the tables for products, mask, softmax and values.
import { sum } from "../kit/arithmetic.js";
import { aligned } from "./words.js";

/** @typedef {import("./numbers.js").State} State */

/**
 * @typedef {object} Table
 * @property {string[]} header
 * @property {string[][]} rows
 * @property {number} [totals] how many of the last rows are totals
 * @property {number} [known] how many of the first rows are known by now
 * @property {number} [chosen] the row that is marked
 */

/** @param {State} state @returns {Table} */
export function productsTable({ headDim, query, key, products, scores, j, step }) {
  const names = [...query.map((_, d) => String(d)), "sum = q · k", `÷ √${headDim} = score`];
  const rows = rowsFrom(
    names,
    [...aligned(query), "", ""],
    [...aligned(key), "", ""],
    aligned([...products, sum(products), scores[j]]),
  );
  return { header: ["d", "q", "k", "q × k"], rows, totals: 2, known: headDim + step - 1 };
}

/** @param {State} state @returns {Table} */
export function maskTable({ words, scores, masked, j }) {
  const rows = rowsFrom(words, aligned(scores), aligned(masked));
  return { header: ["key", "score", "after the mask"], rows, chosen: j };
}

/** @param {State} state @returns {Table} */
export function softmaxTable({ words, masked, lowered, powers, weights, j }) {
  const header = ["key", "score", "− largest", "exp", "÷ sum = weight"];
  const rows = rowsFrom(
    [...words, "sum"],
    [...aligned(masked), ""],
    [...aligned(lowered), ""],
    aligned([...powers, sum(powers)]),
    aligned([...weights, sum(weights)]),
  );
  return { header, rows, totals: 1, chosen: j };
}

/** A result in its own line below where it comes from. @param {State} state @returns {Table} */
export function valuesTable({ words, weights, values, parts, out, j }) {
  const header = ["key", "weight", ...out.map((_, d) => `× v[${d}]`)];
  const shares = aligned(weights);
  const columns = out.map((result, d) => {
    const factors = aligned(values.map((value) => value[d]));
    const products = aligned([...parts.map((part) => part[d]), result]);
    return products.map((product, row) =>
      row < words.length ? `${shares[row]} × ${factors[row]} =\n${product}` : product
    );
  });
  const rows = rowsFrom([...words, "sum = out"], [...shares, ""], ...columns);
  return { header, rows, totals: 1, chosen: j };
}

/** @param {...string[]} columns */
function rowsFrom(...columns) {
  return columns[0].map((_, row) => columns.map((column) => column[row]));
}
