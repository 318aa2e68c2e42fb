// Splits the sentence into words, and finds those that have vectors.
import { asLabel } from "../kit/words.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {[word: string, places: number[]]} Learned a new word and the places of its features */

const [MOST_TOKENS, MOST_UNKNOWN] = [128, 8];

/** As data.split_words: runs of letters, marks and digits, an apostrophe inside. @param {string} text */
export function wordsOf(text) {
  const runs = text.toLowerCase().normalize("NFC").match(/[\p{L}\p{M}\p{N}'’]+/gu) ?? [];
  return runs.map((run) => run.replace(/^['’]+|['’]+$/g, "")).filter((word) => word);
}

/** The words that Python sent, and those that were learned. @param {Model} model */
function vocabularyOf(model) {
  /** @type {Learned[]} */
  const learned = model.get("learned");
  return [...model.get("words"), ...learned.map(([word]) => word)];
}

/**
 * The words of the sentence and their places in the table of words that Python sent.
 * @param {Model} model
 */
export function tokens(model) {
  /** @type {string[]} */
  const words = model.get("words");
  if (!model.get("editable")) return words.map((word, id) => ({ word, id }));
  const places = placesOf(vocabularyOf(model));
  return wordsOf(model.get("sentence"))
    .flatMap((word) => {
      const id = places.get(word);
      return id === undefined ? [] : [{ word, id }];
    })
    .slice(0, MOST_TOKENS);
}

/** The first place of every word. @param {string[]} words */
function placesOf(words) {
  /** @type {[string, number][]} */
  const pairs = words.map((word, id) => [word, id]);
  return new Map(pairs.reverse());
}

/** What the reader has written and the view can not show. @param {Model} model */
export function noteOn(model) {
  if (!model.get("editable")) return "";
  const [places, written] = [placesOf(vocabularyOf(model)), wordsOf(model.get("sentence"))];
  const unknown = written.filter((word) => !places.has(word));
  /** @type {Learned[]} */
  const learned = model.get("learned");
  const plain = learned.filter(([word, has]) => !has.length && written.includes(word));
  const isLong = written.length - unknown.length > MOST_TOKENS;
  return (
    (plain.length ? ` New, without a feature: ${listed(plain.map(([word]) => word))}.` : "") +
    (unknown.length ? ` Not in the vocabulary: ${listed(unknown)}.` : "") +
    (isLong ? ` Only the first ${MOST_TOKENS} words are shown.` : "")
  );
}

/** The first few words of many. @param {string[]} words */
function listed(words) {
  const more = words.length > MOST_UNKNOWN ? ` and ${words.length - MOST_UNKNOWN} more` : "";
  return words.slice(0, MOST_UNKNOWN).map(asLabel).join(", ") + more;
}

/** How many tokens are shown. @param {Model} model */
export function lengthOf(model) {
  return Math.max(Math.min(model.get("length"), tokens(model).length), 0);
}
