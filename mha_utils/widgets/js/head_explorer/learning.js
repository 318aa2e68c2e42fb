// Shows the vocabulary, and lets the reader tick the features of words that are new in it.
import { element, hint } from "../kit/element.js";
import { setTrait } from "../kit/model.js";
import { asLabel } from "../kit/words.js";
import { wordsOf } from "./tokens.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {import("./tokens.js").Learned} Learned */

const MOST_LEARNED = 8;

/**
 * A row for each new word of the sentence; one without a feature goes when its word does.
 * @param {string[]} words
 * @param {Learned[]} learned
 * @param {string} sentence
 * @returns {Learned[]}
 */
export function withNewWords(words, learned, sentence) {
  const written = wordsOf(sentence);
  const kept = learned.filter(([word, places]) => places.length || written.includes(word));
  const known = new Set([...words, ...kept.map(([word]) => word)]);
  const fresh = [...new Set(written)].filter((word) => !known.has(word));
  return [...kept, ...fresh.map((word) => /** @type {Learned} */ ([word, []]))]
    .slice(0, MOST_LEARNED);
}

/** Look for new words in the sentence. @param {Model} model */
export function takeNewWords(model) {
  if (!model.get("features").length) return;
  const before = model.get("learned");
  const now = withNewWords(model.get("words"), before, model.get("sentence"));
  if (JSON.stringify(now) !== JSON.stringify(before)) setTrait(model, "learned", now);
}

/** The vocabulary, folded, and boxes to tick for every new word. @param {View} view */
export function vocabularyPanel(view) {
  const { model } = view;
  const [groups, list, summary] = [element("div"), element("div"), element("summary")];
  const node = element("div", { class: "mha-vocabulary" }, groups);
  node.append(element("details", {}, summary, list));
  /** @type {ReturnType<typeof boxesOf>[]} */
  let all = [];
  const update = view.guarded(() => {
    /** @type {Learned[]} */
    const learned = model.get("learned");
    if (all.map(({ word }) => word).join(" ") !== learned.map(([word]) => word).join(" ")) {
      all = learned.map(([word]) => boxesOf(model, word));
      groups.replaceChildren(...all.map(({ group }) => group));
    }
    all.forEach(({ boxes }, n) =>
      boxes.forEach((box, place) => (box.checked = learned[n][1].includes(place)))
    );
    summary.textContent = `Vocabulary: ${model.get("words").length + learned.length} words`;
    list.replaceChildren(...linesOf(model, learned));
  });
  view.onChange(["learned"], update);
  update();
  return node;
}

/**
 * The words that have each feature.
 * @param {Model} model
 * @param {Learned[]} learned
 */
function linesOf(model, learned) {
  /** @type {string[]} */
  const features = model.get("features");
  return features.map((name, place) => {
    const more = learned.filter(([, places]) => places.includes(place)).map(([word]) => word);
    return hint(`${name}: ${[...wordsOf(model.get("examples")[place]), ...more].join(", ")}`);
  });
}

/**
 * A box for each feature that a new word may have.
 * @param {Model} model
 * @param {string} word
 */
function boxesOf(model, word) {
  /** @type {string[]} */
  const features = model.get("features");
  const boxes = features.map(() => element("input", { type: "checkbox" }));
  const legend = element("legend", {}, `“${asLabel(word)}” is new. Tick what it is:`);
  const labels = features.map((name, place) => element("label", {}, boxes[place], name));
  const group = element("fieldset", { class: "mha-radios" }, legend, ...labels);
  group.addEventListener("change", () => {
    const places = boxes.flatMap((box, place) => (box.checked ? [place] : []));
    /** @type {Learned[]} */
    const learned = model.get("learned");
    setTrait(model, "learned", learned.map(([w, old]) => [w, w === word ? places : old]));
  });
  return { word, group, boxes };
}
