// Reads a text with the language model, and describes in words what it expects and looks at.
import { softmax } from "../kit/arithmetic.js";
import { asLabel, fixed } from "../kit/words.js";
import { reader } from "./forward.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof compute>} State */

export { reader };
export const END = "\n";
const [LIKELIEST, SMALL] = [10, 0.05]; // bars; a share that is not worth a word

/**
 * The part of the text that the model reads, and what is to be said of the rest.
 * @param {Model} model
 */
export function storyOf(model) {
  /** @type {{ letters: string[], places: number }} */
  const { letters, places } = { letters: model.get("letters"), places: model.get("places") };
  const [text, ...after] = model.get("text").toWellFormed().split(END);
  const known = [...text].filter((letter) => letters.includes(letter));
  const unknown = [...new Set(text)].filter((letter) => !letters.includes(letter)).join("");
  const note = (unknown ? `The stories have no “${asLabel(unknown)}”: left out. ` : "") +
    (known.length ? "" : "Nothing is left to read: we take “Once”. ") +
    (known.length > places ? `It has ${places} places: no more is read. ` : "") +
    (after.length ? "The story is over. " : "");
  const story = known.slice(0, places).join("") || "Once";
  return { story, note, isDone: after.length > 0 || known.length >= places };
}

/**
 * @param {Model} model
 * @param {ReturnType<typeof reader>} read
 */
export function compute(model, read) {
  /** @type {string[]} */
  const letters = model.get("letters");
  /** @type {{ head: string, temperature: number }} */
  const { head, temperature } = { head: model.get("head"), temperature: model.get("temperature") };
  const { story, note } = storyOf(model);
  const { scores, weights } = read(Array.from(story, (letter) => letters.indexOf(letter)));
  const hot = Array.from(scores, (score) => score / temperature);
  const chances = softmax(hot, (n) => n > 0); // the first one is padding, which is no letter
  const all = letters.map((letter, n) => ({ letter, chance: chances[n], score: scores[n] }));
  const likeliest = all.slice(1).sort((a, b) => b.score - a.score).slice(0, LIKELIEST);
  const shares = weights[model.get("heads").indexOf(head)];
  return { story, note, head, temperature, letters, chances, likeliest, shares };
}

/** A letter at random, each with its chance. @param {State} state */
export function drawn({ letters, chances, likeliest }) {
  let left = Math.random();
  return letters[chances.findIndex((chance) => (left -= chance) < 0)] ?? likeliest[0].letter;
}

/** @param {State} state */
export function describe({ story, note, head, temperature, likeliest: [first], shares }) {
  const place = shares.indexOf(Math.max(...shares));
  return (
    `${note}After “${story.slice(-20)}”, at temperature ${fixed(temperature, 1)}, ` +
    `it expects ${named(first.letter)}: ${fixed(first.chance)}. ` +
    `Head ${head} looks most at ${there(story, place)}: ${fixed(shares[place])}.`
  );
}

/** @param {string} letter */
function named(letter) {
  return { " ": "a space", [END]: "the end" }[letter] ?? `“${letter}”`;
}

/** A letter and the word in which it stands. @type {(story: string, place: number) => string} */
function there(story, place) {
  const before = story.slice(0, place).split(" ").at(-1);
  const [here, after] = [story[place], story.slice(place + 1).split(" ")[0]];
  return here === " "
    ? `the space after “${before}”`
    : `the “${here}” of “${before}${here}${after}”`;
}

/** @param {State} state */
export function barsLabel({ temperature, likeliest }) {
  const some = likeliest.filter(({ chance }) => chance > SMALL);
  const each = some.map(({ letter, chance }) => `${named(letter)} ${fixed(chance, 3)}`);
  return `Chances of the next letter at temperature ${fixed(temperature, 1)}: ${each.join(", ")}.`;
}

/** @param {State} state */
export function textLabel({ story, head, shares }) {
  const each = shares.map((share, n) =>
    share > SMALL ? `${there(story, n)} ${fixed(share, 3)}` : ""
  );
  const most = each.filter((text) => text).join(", ");
  return `${story}. Where the last letter looks in head ${head}: ${most}.`;
}
