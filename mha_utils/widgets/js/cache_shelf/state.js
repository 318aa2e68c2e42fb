// Says what a cache keeps of a text so far, and counts its numbers.
import { traitUpTo } from "../kit/model.js";
import { count } from "../kit/words.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */

export const SINKS = 4; // the most that can be shown

/**
 * What is kept of every token: "new", "kept", "gone", or "future" for what is not written yet.
 * @param {Model} model
 */
export function compute(model) {
  /** @type {string[]} */
  const tokens = model.get("tokens");
  const sizes = ["num_heads", "num_kv_heads", "head_dim"];
  const [heads, kvHeads, width] = sizes.map((n) => model.get(n));
  const length = Math.max(traitUpTo(model, "length", tokens.length), 1);
  const [window, sinks] = [model.get("window"), traitUpTo(model, "sinks", SINKS)];
  const fates = tokens.map((_, place) => fate(place, length, window, sinks));
  const kept = fates.filter((fate) => fate === "new" || fate === "kept").length;
  const words = tokens.map((word, place) => (place < length ? word : "·"));
  /** @param {number} rows */
  const numbers = (rows) => 2 * rows * width * kept;
  return { tokens, words, fates, heads, kvHeads, length, kept, numbers };
}

/**
 * @param {number} place
 * @param {number} length
 * @param {number} window
 * @param {number} sinks
 */
function fate(place, length, window, sinks) {
  if (place >= length) return "future";
  if (place === length - 1) return "new";
  return place < sinks || place >= length - window ? "kept" : "gone";
}

/** @param {State} state */
export function describe({ tokens, heads, kvHeads, length, kept, numbers }) {
  const gone = length - kept;
  const unshared = kvHeads < heads
    ? `; a KV head for each of ${heads} heads would need ${numbers(heads)}`
    : "";
  const whole = numbers(kvHeads) / kept * length;
  const forgotten = gone
    ? `. ${count(gone, "token")} forgotten: with all kept, ${whole} numbers`
    : "";
  return (
    `The newest of ${count(length, "token")} is “${tokens[length - 1]}”. ` +
    `${count(kvHeads, "KV head")}, ` +
    `${count(kept, "token")} kept: ${numbers(kvHeads)} numbers${unshared}${forgotten}.`
  );
}

/**
 * @param {State} state
 * @param {number} rows
 */
export function shelfLabel({ kept, length, numbers }, rows) {
  return `A shelf of ${count(rows, "row")}: ${kept} of ${count(length, "token")} kept, ${
    numbers(rows)
  } numbers.`;
}
