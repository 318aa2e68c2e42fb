// Writes the table that leads from the products of q and k to the chosen weight.
import { sum } from "../kit/arithmetic.js";
import { element } from "../kit/element.js";
import { fixed } from "../kit/words.js";

/** @typedef {import("./state.js").State} State */

const SHOWN = 6; // products that are listed one by one

/**
 * Where the number in the chosen cell comes from: products, sum, scale, softmax.
 * @param {HTMLTableElement} table
 * @param {State} state
 */
export function writeSums(table, state) {
  if (!state.length) return table.replaceChildren();
  const { row, column, words } = state;
  const { lines, total } = productsOf(state);
  const steps = stepsOf(state, total);
  table.replaceChildren(
    element("caption", {}, `Query “${words[row]}” meets key “${words[column]}”`),
    ...lines.map((cells) => line(cells)),
    ...steps.map((cells, i) => line(cells, i === 0 || i === steps.length - 1)),
  );
}

/** @param {State} state */
function productsOf({ q, k, row, column, headDim, head, width, ids }) {
  /** @type {(x: Float32Array, token: number) => number[]} */
  const vector = (x, token) => {
    const start = ids[token] * width + head * headDim;
    return Array.from(x.subarray(start, start + headDim));
  };
  const [query, key] = [vector(q, row), vector(k, column)];
  const products = query.map((value, d) => value * key[d]);
  const lines = products.slice(0, SHOWN).map((product, d) => [
    `q[${d}] × k[${d}]`,
    `${short(query[d])} × ${short(key[d])}`,
    short(product),
  ]);
  const rest = products.slice(SHOWN);
  if (rest.length) lines.push([`${rest.length} more`, "", short(sum(rest))]);
  return { lines, total: sum(products) };
}

/**
 * @param {State} state
 * @param {number} product
 */
function stepsOf({ row, column, length, headDim, scores, shares, causal, temperature }, product) {
  const score = scores[row * length + column];
  const heat = ["÷ temperature", temperature.toFixed(1), short(score / temperature)];
  return [
    ["sum = q · k", "", short(product)],
    [`÷ √${headDim} = score`, "", short(score)],
    ...(temperature === 1 ? [] : [heat]),
    ...(causal && column > row ? [["in the future: masked", "", "−∞"]] : []),
    ["softmax of the row = weight", "", shares[column].toFixed(4)],
  ];
}

/** @param {string[]} cells */
function line([name, detail, value], isStrong = false) {
  return element(
    "tr",
    isStrong ? { class: "mha-total" } : {},
    element("th", { scope: "row", colspan: detail ? 1 : 2 }, name),
    ...[detail, value].filter(Boolean).map((text) => element("td", {}, text)),
  );
}

/** @param {number} number */
function short(number) {
  return fixed(number, Number.isInteger(number) ? 0 : 3);
}
