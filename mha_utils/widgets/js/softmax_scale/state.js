// Computes softmax with and without division by √Dh, and describes both in words.
import { dot, entropy, mean, rowsOf, softmax, sum } from "../kit/arithmetic.js";
import { floats, traitUpTo } from "../kit/model.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */
/** @typedef {State["sides"][number]} Side */

export const WIDTHS = Array.from({ length: 10 }, (_, n) => 2 ** n); // 1 to 512
const WIDEST = Math.max(...WIDTHS);

/**
 * Products of queries and keys that are cut to their first Dh numbers: [query][Dh][key].
 * @param {Model} model
 */
export function read(model) {
  const [queries, keys] = ["q", "k"].map((name) => rowsOf(floats(model.get(name)), WIDEST));
  return queries.map((query) =>
    WIDTHS.map((headDim) => {
      const cut = query.slice(0, headDim);
      return keys.map((key) => dot(cut, key));
    })
  );
}

/**
 * Both sides: scores divided by the temperature, and by √Dh.
 * @param {Model} model
 * @param {number[][][]} products
 */
export function compute(model, products) {
  /** @type {[number, number]} */
  const [headDim, temperature] = [model.get("head_dim"), model.get("temperature")];
  const query = traitUpTo(model, "query", products.length - 1);
  const now = Math.max(WIDTHS.indexOf(headDim), 0);
  /** @type {(divisor: (width: number) => number, name: string) => ReturnType<typeof sideOf>} */
  const side = (divisor, name) => sideOf(products, query, now, divisor, name);
  const quotient = temperature === 1 ? "" : ` / ${temperature.toFixed(1)}`;
  const sides = [
    side(() => temperature, `q · k${quotient}`),
    side(Math.sqrt, `q · k / √${headDim}`),
  ];
  return { headDim, temperature, query, now, numKeys: products[0][0].length, sides };
}

/**
 * @param {number[][][]} products
 * @param {number} query
 * @param {number} now the place of the present Dh
 * @param {(width: number) => number} divisor
 * @param {string} name
 */
function sideOf(products, query, now, divisor, name) {
  /** @type {(q: number, w: number) => ReturnType<typeof measure>} */
  const at = (q, w) => measure(products[q][w].map((product) => product / divisor(WIDTHS[w])));
  const slopes = WIDTHS.map((_, w) => mean(products.map((__, q) => at(q, w).slope)));
  return { ...at(query, now), slopes, name };
}

/** @param {number[]} scores */
function measure(scores) {
  const middle = mean(scores);
  const weights = softmax(scores);
  return {
    scores,
    weights,
    spread: Math.sqrt(sum(scores.map((score) => (score - middle) ** 2)) / (scores.length - 1)),
    largest: Math.max(...weights),
    entropy: entropy(weights),
    // w_j (1 - w_j): every other slope w_j w_l is at most that, since w_l <= 1 - w_j
    slope: Math.max(...weights.map((weight) => weight * (1 - weight))),
  };
}

/** @param {State} state */
export function describe({ headDim, temperature, query, numKeys, sides: [left, right] }) {
  const most = Math.log(numKeys).toFixed(2);
  const isWhole = temperature === 1;
  const how = isWhole ? "not divided" : `divided by temperature ${temperature.toFixed(1)}`;
  /** @param {Side} side */
  const what = ({ spread, largest, entropy, slope }) =>
    `scores spread by ${spread.toFixed(1)}, the largest weight is ${largest.toFixed(3)}, ` +
    `entropy ${entropy.toFixed(2)} of ${most} nats, largest slope ${slope.toFixed(3)}.`;
  return (
    `Query ${query}, Dh = ${headDim}, ${how}: ${what(left)} ` +
    `Divided by √${headDim}: ${what(right)}`
  );
}

/** @param {Side} side */
export function barsLabel({ name, scores, weights }) {
  const keys = weights.map((w, j) => `key ${j}: ${w.toFixed(3)} from ${scores[j].toFixed(2)}`);
  return `Softmax of ${name}, weights from scores. ${keys.join("; ")}.`;
}

/** @param {State} state */
export function slopesLabel({ sides, now }) {
  /** @param {number} place */
  const at = (place) => sides.map(({ slopes }) => slopes[place].toFixed(3));
  const [[left, right], [leftLast, rightLast]] = [at(now), at(WIDTHS.length - 1)];
  return (
    "Largest slope of the softmax for Dh from 1 to 512, mean of all queries. " +
    `At Dh = ${WIDTHS[now]}: left ${left}, divided by √Dh ${right}; ` +
    `at Dh = 512: left ${leftLast}, divided ${rightLast}.`
  );
}
