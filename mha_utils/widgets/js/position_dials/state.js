// Turns pairs of features of a query and a key by their places, and adds up what they score.
import { sum } from "../kit/arithmetic.js";
import { floats, traitUpTo } from "../kit/model.js";
import { fixed } from "../kit/words.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */
/** @typedef {State["dials"][number]} Dial */
/** @typedef {{ long: number, angle: number }} Hand */

export const MOST = 31; // the last place of the key, and the largest distance

/**
 * For each pair of features: its two hands as they are at place 0, and its turn from place to place.
 * @param {Model} model
 */
export function read(model) {
  const [q, k] = ["q", "k"].map((name) => floats(model.get(name)));
  const half = q.length / 2;
  /** @type {(x: Float32Array, n: number) => Hand} */
  const hand = (x, n) => ({
    long: Math.hypot(x[n], x[n + half]),
    angle: Math.atan2(x[n + half], x[n]),
  });
  return Array.from({ length: half }, (_, n) => ({
    query: hand(q, n),
    key: hand(k, n),
    rate: model.get("base") ** (-n / half),
  }));
}

/**
 * @param {Model} model
 * @param {ReturnType<typeof read>} pairs
 */
export function compute(model, pairs) {
  const [keyPlace, distance] = ["key_place", "distance"].map((n) => traitUpTo(model, n, MOST));
  const queryPlace = keyPlace + distance;
  /** @type {(hand: Hand, turn: number) => Hand} */
  const turned = ({ long, angle }, turn) => ({ long, angle: angle + turn });
  const dials = pairs.map(({ query, key, rate }) => {
    const hands = [turned(query, queryPlace * rate), turned(key, keyPlace * rate)];
    return { rate, hands, product: productOf(hands[0], hands[1]) };
  });
  const root = Math.sqrt(2 * pairs.length);
  const curve = Array.from({ length: MOST + 1 }, (_, far) => {
    const products = pairs.map((pair) => productOf(turned(pair.query, far * pair.rate), pair.key));
    return sum(products) / root;
  });
  const total = sum(dials.map(({ product }) => product));
  return { keyPlace, distance, queryPlace, dials, curve, total, score: total / root };
}

/**
 * The dot product of two hands: their lengths times the cosine of the angle between them.
 * @param {Hand} a
 * @param {Hand} b
 */
function productOf(a, b) {
  return a.long * b.long * Math.cos(a.angle - b.angle);
}

/** @param {State} state */
export function describe({ queryPlace, keyPlace, distance, dials, total, score }) {
  return (
    `Query at place ${queryPlace}, key at place ${keyPlace}, ${distance} apart: ` +
    `the products add up to ${fixed(total)}, and divided by √${2 * dials.length} ` +
    `that is the score, ${fixed(score)}.`
  );
}

/** @param {State} state */
export function dialsLabel({ dials }) {
  const each = dials.map(({ product }, n) => `pair ${n}: ${fixed(product)}`);
  return `A dial for each pair of features, with a hand of q and one of k. Products: ${
    each.join("; ")
  }.`;
}

/** @param {State} state */
export function curveLabel({ curve }) {
  return `Score against distance. ${curve.map((s, far) => `${far}: ${fixed(s)}`).join("; ")}.`;
}
