// Lists the steps that split q into heads or merge them, and lays out what they make.
import { contiguous, packed, reshape, transpose, view } from "./strided.js";

/** @typedef {import("./strided.js").Tensor} Tensor */
/**
 * What a step does to the tensor of `start`; `letters` of the shape that comes out.
 * @typedef {object} Step
 * @property {string} start
 * @property {string} code
 * @property {string} letters
 * @property {(q: Tensor, B: number, T: number, H: number, Dh: number) => Tensor} apply
 */

/** Each step does what `code` says, as in memory_ribbon.py. @type {Record<string, Step>} */
export const STEPS = {
  q: { start: "q", code: "q", letters: "B T D", apply: (q) => q },
  view: {
    start: "q",
    code: "q.view(B, T, H, Dh)",
    letters: "B T H Dh",
    apply: (q, B, T, H, Dh) => view(q, [B, T, H, Dh]),
  },
  transpose: {
    start: "view",
    code: "q.view(B, T, H, Dh).transpose(1, 2)",
    letters: "B H T Dh",
    apply: (byToken) => transpose(byToken, 1, 2),
  },
  contiguous: {
    start: "transpose",
    code: "q.view(B, T, H, Dh).transpose(1, 2).contiguous()",
    letters: "B H T Dh",
    apply: (heads) => contiguous(heads),
  },
  "wrong view": {
    start: "q",
    code: "q.view(B, H, T, Dh)",
    letters: "B H T Dh",
    apply: (q, B, T, H, Dh) => view(q, [B, H, T, Dh]),
  },
  merge: {
    start: "contiguous",
    code: "heads.transpose(1, 2).reshape(B, T, D)",
    letters: "B T D",
    apply: (heads, B, T, H, Dh) => reshape(transpose(heads, 1, 2), [B, T, H * Dh]),
  },
  "wrong merge": {
    start: "contiguous",
    code: "heads.contiguous().view(B, T, D)",
    letters: "B T D",
    apply: (heads, B, T, H, Dh) => view(contiguous(heads), [B, T, H * Dh]),
  },
};

/** What a wrong step should have done. @type {Record<string, string>} */
export const RIGHT = { "wrong view": "transpose", "wrong merge": "merge" };

/**
 * The tensor after a step: the numbers from 0 up, and how they are read.
 * @param {string} step
 * @param {number[]} sizes
 * @returns {Tensor}
 */
export function layOut(step, sizes) {
  const [B, T, H, Dh] = sizes;
  const numbers = Array.from({ length: B * T * H * Dh }, (_, n) => n);
  if (step === "q") return packed(numbers, [B, T, H * Dh]);
  return STEPS[step].apply(layOut(STEPS[step].start, sizes), B, T, H, Dh);
}
