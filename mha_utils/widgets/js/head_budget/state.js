// Finds the score measured for the chosen heads and width, and says it in a sentence.
import { count } from "../kit/words.js";

/** @typedef {ReturnType<typeof read>} State */
/**
 * What was measured: heads, width, mean, lowest, highest, number of seeds, most that theory allows.
 * @typedef {[number, number, number, number, number, number, number | null]} Cell
 */

/** @param {import("../kit/model.js").Model} model */
export function read(model) {
  /** @type {Cell[]} */
  const cells = model.get("cells");
  /** @type {(h: number, w: number) => Cell | undefined} */
  const find = (h, w) => cells.find((cell) => cell[0] === h && cell[1] === w);
  /** @type {number[]} */
  const [heads, width, budget] = ["num_heads", "head_dim", "budget"].map((n) => model.get(n));
  /** @type {number[][]} */
  const [allHeads, allWidths] = ["heads", "widths"].map((name) => model.get(name));
  const [chosen, measure] = [find(heads, width), model.get("measure")];
  return { heads, width, budget, allHeads, allWidths, find, chosen, measure };
}

/** @param {State} state */
export function describe({ heads, width, chosen, measure }) {
  const who = `${count(heads, "head")} of width ${width} (${heads * width} columns): `;
  if (!chosen) return `${who}not tried.`;
  const [mean, low, high] = [chosen[2], chosen[3], chosen[4]].map((score) => score.toFixed(3));
  const bound = chosen[6] === null ? "" : ` Theory allows at most ${chosen[6].toFixed(3)}.`;
  return `${who}${measure} ${mean}, from ${low} to ${high} over ${chosen[5]} seeds.${bound}`;
}
