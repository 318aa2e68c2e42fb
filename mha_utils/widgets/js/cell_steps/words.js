// Describes the present step in a sentence, and writes columns of numbers alike.
import { sum } from "../kit/arithmetic.js";
import { count, fixed } from "../kit/words.js";
import { STEPS } from "./numbers.js";

/** @typedef {import("./numbers.js").State} State */

const LISTED = 4;

/** A column of numbers: whole ones without decimals, all others with four. @param {number[]} numbers */
export function aligned(numbers) {
  const four = numbers.map((number) => fixed(number, 4));
  const isWhole = four.every((text) => text.endsWith(".0000") || text.endsWith("∞"));
  return isWhole ? four.map((text) => text.replace(".0000", "")) : four;
}

/** @param {State} state */
export function describe(state) {
  const { words, length, headDim, i, j, step, products, scores, masked, weights, out, may } = state;
  const [score, product] = [fixed(scores[j]), fixed(sum(products))];
  const most = fixed(Math.max(...products.map(Math.abs)));
  const forbidden = masked[j] === -Infinity;
  const quotient = `${product} / √${headDim} = ${score}`;
  const weight = `${quotient}${forbidden ? ", forbidden" : ""}, weight ${fixed(weights[j])}.`;
  const allowed = words.filter((_, column) => may(i, column)).length;
  const listed = out.slice(0, LISTED).map((x) => fixed(x)).join(", ");
  const known = [
    `${count(headDim, "product")}, the largest in size ${most}.`,
    `the products sum to ${product}.`,
    `${quotient}.`,
    `${score}, ${forbidden ? "forbidden, so it becomes −∞" : "allowed"}. ` +
    `${allowed} of ${length} keys are allowed.`,
    weight,
    `${weight} Output: ${listed}${out.length > LISTED ? ", …" : "."}`,
  ][step - 1];
  return `Step ${step} of 6, ${STEPS[step - 1]}. “${words[i]}” · “${words[j]}”: ${known}`;
}

/** Two decimals, but none that are zero. @param {number} number */
export function trimmed(number) {
  return fixed(number).replace(/\.?0*$/, "");
}

/** @param {State} state */
export function titleOf({ words, i, j, step }) {
  if (step <= 3) return `Query “${words[i]}” meets key “${words[j]}”`;
  return step === 6
    ? `Weights times values: the output row of “${words[i]}”`
    : `Query “${words[i]}” and all keys`;
}
