// Computes and caches the scores and weights of heads, and says where a query looks.
import { attentionScores, attentionWeights, divisors, entropy, sum } from "../kit/arithmetic.js";
import { floats, halves, traitUpTo } from "../kit/model.js";
import { fixed, mostAt } from "../kit/words.js";
import { lengthOf, noteOn, tokens } from "./tokens.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */

const MOST_HEADS = 32;

/** The numbers of heads that share the columns evenly. @param {Model} model */
export function splits(model) {
  const [given, , headDim] = model.get("shape");
  return divisors(given * headDim).filter((n) => n <= Math.max(given, MOST_HEADS));
}

/**
 * (H, words, Dh) as Python sent it, to (words, D): the heads of a word side by side.
 * @param {Float32Array} sent
 * @param {number[]} shape
 */
function joinHeads(sent, [numHeads, numWords, headDim]) {
  const joined = new Float32Array(sent.length);
  for (let h = 0; h < numHeads; h += 1) {
    for (let w = 0; w < numWords; w += 1) {
      const from = (h * numWords + w) * headDim;
      joined.set(sent.subarray(from, from + headDim), (w * numHeads + h) * headDim);
    }
  }
  return joined;
}

/**
 * The q, k or v of all words as rows of the columns of all heads; without v no rows.
 * @param {Model} model
 * @param {string} name
 */
function rowsOf(model, name) {
  const [numHeads, numWords, headDim] = model.get("shape");
  const shape = [numHeads, numWords, name === "v" ? model.get("value_dim") : headDim];
  if (!shape[2]) return new Float32Array();
  return withLearned(model, name, joinHeads(numbers(model.get(name), shape), shape), shape);
}

/**
 * Rows of words, and below them those of the words that were learned: sums of their features.
 * @param {Model} model
 * @param {string} name
 * @param {Float32Array<ArrayBuffer>} rows
 * @param {number[]} shape
 */
function withLearned(model, name, rows, [numHeads, , dim]) {
  /** @type {import("./tokens.js").Learned[]} */
  const learned = model.get("learned");
  if (!learned.length) return rows;
  const [width, sizes] = [numHeads * dim, [numHeads, model.get("features").length, dim]];
  const features = joinHeads(floats(model.get(`feature_${name}`)), sizes);
  const sums = learned.flatMap(([, places]) =>
    Array.from({ length: width }, (_, d) => sum(places.map((at) => features[at * width + d])))
  );
  return Float32Array.from([...rows, ...sums]);
}

/**
 * Numbers of 2 or of 4 bytes.
 * @param {DataView<ArrayBuffer>} sent
 * @param {number[]} shape
 */
export function numbers(sent, [numHeads, numWords, headDim]) {
  return sent.byteLength === 2 * numHeads * numWords * headDim ? halves(sent) : floats(sent);
}

/**
 * What is kept between two pictures: q, k and v as rows of D columns, until others are sent; the
 * scores of a head as soon as it is asked for, until words or heads change.
 * @param {Model} model
 */
export function cached(model) {
  const names = ["q", "k", "v", "learned"];
  let [key, sent] = ["", names.map(() => null)];
  let [q, k, v] = [new Float32Array(), new Float32Array(), new Float32Array()];
  /** @type {Float64Array[]} */
  let scores = [];
  /** @type {(ids: number[], numHeads: number) => (head: number) => Float64Array} */
  const scoresOf = (ids, numHeads) => {
    const shape = model.get("shape");
    const width = shape[0] * shape[2];
    const now = `${numHeads}: ${ids.join()}`;
    const given = names.map((name) => model.get(name));
    const isOther = given.some((value, at) => value !== sent[at]);
    if (isOther) [q, k, v] = ["q", "k", "v"].map((name) => rowsOf(model, name));
    if (isOther || key !== now) scores = [];
    [key, sent] = [now, given];
    const dim = width / numHeads;
    return (head) => (scores[head] ??= attentionScores(q, k, ids, dim, width, head * dim));
  };
  return { scoresOf, vectors: () => ({ q, k, v }) };
}

/** How many heads there are now. @param {Model} model @returns {number} */
export function headCount(model) {
  const [[given], asked] = [model.get("shape"), model.get("num_heads")];
  return model.get("resplit") && splits(model).includes(asked) ? asked : given;
}

/** The head to compare with, or null. @param {Model} model */
export function otherOf(model) {
  return model.get("other") == null ? null : traitUpTo(model, "other", headCount(model) - 1);
}

/** Everything that is drawn, as plain numbers. @param {Model} model */
export function compute(model, cache = cached(model)) {
  const [given, , givenDim] = model.get("shape");
  const [resplit, numHeads] = [model.get("resplit"), headCount(model)];
  const all = tokens(model);
  const length = lengthOf(model);
  const ids = all.slice(0, length).map(({ id }) => id);
  const scoresOf = cache.scoresOf(ids, numHeads);
  /** @type {[number, boolean, boolean]} */
  const [temperature, causal, locked] = [
    model.get("temperature"),
    model.get("causal"),
    model.get("locked"),
  ];
  const [row, column] = ["row", "column"].map((name) => traitUpTo(model, name, length - 1));
  const head = traitUpTo(model, "head", numHeads - 1);
  /** @param {number} h */
  const weightsOf = (h) => attentionWeights(scoresOf(h), length, temperature, causal);
  const weights = weightsOf(head);
  const words = Array.from({ length }, (_, i) => all[i].word);
  return {
    ...{ numHeads, headDim: (given * givenDim) / numHeads, width: given * givenDim, resplit },
    valueDim: (given * model.get("value_dim")) / numHeads,
    ...{ length, ids, words, causal, temperature, locked, row, column, head },
    ...{ weights, weightsOf, ...cache.vectors(), scores: scoresOf(head) },
    shares: weights.subarray(row * length, (row + 1) * length),
    ...{ name: nameOf(model, head), ...compared(model, weights, weightsOf) },
    note: noteOn(model),
  };
}

/** What a head is called. @param {Model} model @param {number} head */
export function nameOf(model, head) {
  return String(model.get("names")[head] ?? head);
}

/**
 * The weights of the other head, and how far those of the chosen head are above them.
 * @param {Model} model
 * @param {Float32Array<ArrayBuffer>} weights
 * @param {(head: number) => Float32Array<ArrayBuffer>} weightsOf
 */
function compared(model, weights, weightsOf) {
  const other = otherOf(model);
  if (other === null) return { otherName: "", otherWeights: null, difference: null };
  const otherWeights = weightsOf(other);
  const difference = weights.map((weight, at) => weight - otherWeights[at]);
  return { otherName: nameOf(model, other), otherWeights, difference };
}

/** @param {State} state */
export function describe(state) {
  const { length, causal, row, words, shares, locked, note } = state;
  if (!length) return `Write a sentence with words that have vectors.${note}`;
  const among = causal ? row + 1 : length;
  const best = mostAt(words, shares, among);
  const how = best === `${among} keys alike` ? "looks at" : "looks most at";
  return (
    `${whoOf(state)} ${row}, “${words[row]}”${locked ? " (locked)" : ""}, ` +
    `${how} ${best}: ${Math.max(...shares).toFixed(2)}. Entropy ` +
    `${entropy(shares).toFixed(2)} of at most ${Math.log(among).toFixed(2)} nats.${note}`
  );
}

/** The key that the keys have moved to, which the sentence leaves out. @param {State} state */
export function cellOf(state) {
  const { length, column, words, shares } = state;
  if (!length) return "";
  return `Key ${column}, “${words[column]}”: ${shares[column].toFixed(2)}.${comparison(state)}`;
}

/** The chosen cell in two heads. @param {State} state */
export function comparison({ length, row, column, weights, otherWeights, otherName, name }) {
  if (!otherWeights || !length) return "";
  const at = row * length + column;
  const [here, there] = [weights[at], otherWeights[at]].map((weight) => fixed(weight, 3));
  return ` Head ${name} − head ${otherName}: ${here} − ${there} = ` +
    `${fixed(weights[at] - otherWeights[at], 3)}.`;
}

/** @param {State} state */
function whoOf({ resplit, numHeads, head, headDim, name }) {
  if (resplit) return `Head ${head} of ${numHeads}, Dh = ${headDim}: query`;
  return numHeads > 1 ? `Head ${name}: query` : "Query";
}
