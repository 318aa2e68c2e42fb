// Describes the chosen tensor and its chosen number in words.
import { fixed } from "../kit/words.js";
import { isFuture } from "./forward.js";
import { lettersOf } from "./tensors.js";

/** @typedef {import("./state.js").State} State */

/** @param {State} state */
export function describe(state) {
  const { name, shape, count } = state;
  const letters = lettersOf(name);
  const times = 2 ** letters.filter((letter) => letter === "T").length;
  return (
    `${name} is (${letters.join(", ")}) = (${shape.join(", ")}): ${count} numbers. ` +
    `${FACTS[name](state)} Twice as many tokens make ${times * count}, ${times} times as many.`
  );
}

/** @type {Record<string, (state: State) => string>} */
const FACTS = {
  x: () => "What the module gets.",
  ...{ q: projection, k: projection, v: projection },
  ...{ "q by head": cut, "k by head": cut, "v by head": cut },
  scores: ({ sizes: { H, T } }) =>
    `Each query meets each key in each head: H·T·T = ${H * T * T} for a sequence.`,
  masked: (state) =>
    state.causal
      ? `${state.count - allowedOf(state).length} are −∞: the future.`
      : "Nothing is hidden.",
  weights: ({ sizes: { T } }) => `Each row of T = ${T} shares sums to 1.`,
  dropped,
  heads: () => "Each row is a sum of rows of v, each times its weight.",
  merged: () => "The heads side by side again.",
  out: () => "The shape of x again.",
};

/** @param {State} state */
function projection({ name, sizes: { D } }) {
  return `One product with ${name}_proj.weight, (D, D) = (${D}, ${D}), for all heads.`;
}

/** @param {State} state */
function cut({ name, sizes: { H, Dh } }) {
  return `The numbers of ${name[0]}, cut into H = ${H} pieces of Dh = D / H = ${Dh} columns.`;
}

/** @param {State} state */
function dropped(state) {
  if (!state.p) return "With p = 0 nothing is dropped.";
  const allowed = allowedOf(state);
  const gone = allowed.filter(state.isGone).length;
  return `${gone} of ${allowed.length} weights became 0, the others were divided by 1 − p.`;
}

/** The weights that no mask has taken, by their number. @param {State} state */
function allowedOf({ count, causal, sizes: { T } }) {
  return Array.from({ length: count }, (_, n) => n).filter((n) => !causal || !isFuture(n, T));
}

/** The chosen number and where it stands. @param {State} state */
export function cellOf({ name, sequence, head, hasHeads, row, column, columns, matrixOf }) {
  const index = [sequence, ...(hasHeads ? [head] : []), row, column];
  const isPair = lettersOf(name).join(" ") === "B H T T";
  const [rowWord, columnWord] = isPair ? ["query", "key"] : ["token", "column"];
  const number = fixed(matrixOf(name)[row * columns + column], 4);
  return `${name}[${index.join(", ")}] = ${number}: ${rowWord} ${row}, ${columnWord} ${column}.`;
}
