// Lists the tensors of the forward pass with their shapes, formulas, boxes and arrows.

/** @typedef {"B" | "T" | "D" | "H" | "Dh"} Letter */
/** @typedef {Record<Letter, number>} Sizes */

export const [LENGTH, WIDTH, DIMS] = [12, 24, [4, 6, 8, 12, 16, 24]]; // as in pipeline.py

/**
 * By name: letters of the shape, what makes it, column and row of its box.
 * @type {Record<string, [letters: string, formula: string, column: number, row: number]>}
 */
export const TENSORS = {
  x: ["B T D", "the tokens", 0, 1],
  q: ["B T D", "q_proj(x)", 1, 0],
  k: ["B T D", "k_proj(x)", 1, 1],
  v: ["B T D", "v_proj(x)", 1, 2],
  "q by head": ["B H T Dh", "split, transpose", 2, 0],
  "k by head": ["B H T Dh", "split, transpose", 2, 1],
  "v by head": ["B H T Dh", "split, transpose", 2, 2],
  scores: ["B H T T", "q kᵀ / √Dh", 3, 1],
  masked: ["B H T T", "mask", 4, 1],
  weights: ["B H T T", "softmax", 4, 3],
  dropped: ["B H T T", "dropout", 3, 3],
  heads: ["B H T Dh", "dropped · v", 2, 3],
  merged: ["B T D", "transpose, concat", 1, 3],
  out: ["B T D", "out_proj(merged)", 0, 3],
};

export const NAMES = Object.keys(TENSORS);
export const SHARES = ["weights", "dropped"];
export const HEADS_IN_COLUMNS = ["q", "k", "v", "merged"];
export const ARROWS = [
  ["x", "q"],
  ["x", "k"],
  ["x", "v"],
  ["q", "q by head"],
  ["k", "k by head"],
  ["v", "v by head"],
  ["q by head", "scores"],
  ["k by head", "scores"],
  ["scores", "masked"],
  ["masked", "weights"],
  ["weights", "dropped"],
  ["dropped", "heads"],
  ["v by head", "heads"],
  ["heads", "merged"],
  ["merged", "out"],
];

/**
 * @param {import("../kit/model.js").Model} model
 * @returns {Sizes}
 */
export function sizesOf(model) {
  const [B, T, D, H] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((n) => model.get(n));
  return { B, T, D, H, Dh: D / H };
}

/** @param {string} name */
export function lettersOf(name) {
  return /** @type {Letter[]} */ (TENSORS[name][0].split(" "));
}

/**
 * @param {string} name
 * @param {Sizes} sizes
 */
export function shapeOf(name, sizes) {
  return lettersOf(name).map((letter) => sizes[letter]);
}
