// Keeps the computed tensors, and reads which tensor and which number is chosen.
import { forward, isKept } from "./forward.js";
import { shapeOf, sizesOf } from "./tensors.js";

/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {ReturnType<typeof read>} State */

/**
 * All tensors, computed anew when the sizes or what is done to the weights change.
 * @param {import("./forward.js").Data} data
 */
export function computed(data) {
  let key = "";
  /** @type {ReturnType<typeof forward>} */
  let tensors = {};
  /** @param {Model} model */
  const tensorsOf = (model) => {
    const [sizes, causal, p] = [sizesOf(model), model.get("causal"), model.get("dropout")];
    const now = JSON.stringify([sizes, causal, p]);
    if (key !== now) tensors = forward(data, sizes, causal, p);
    key = now;
    return tensors;
  };
  return { data, tensorsOf };
}

/**
 * @param {Model} model
 * @param {ReturnType<typeof computed>} source
 */
export function read(model, { data, tensorsOf }) {
  const sizes = sizesOf(model);
  /** @type {[string, boolean, number]} */
  const [name, causal, p] = [model.get("tensor"), model.get("causal"), model.get("dropout")];
  const tensors = tensorsOf(model);
  const sequence = Math.min(model.get("sequence"), sizes.B - 1);
  const head = Math.min(model.get("head"), sizes.H - 1);
  const shape = shapeOf(name, sizes);
  const [rows, columns] = shape.slice(-2);
  const row = Math.min(model.get("row"), rows - 1);
  const column = Math.min(model.get("column"), columns - 1);
  /** The last two dimensions at one sequence, and one head if there are. @param {string} other */
  const matrixOf = (other) => {
    const size = shapeOf(other, sizes).slice(-2).reduce((a, b) => a * b);
    const hasHeads = shapeOf(other, sizes).length === 4;
    const place = hasHeads ? sequence * sizes.H + head : sequence;
    return tensors[other].subarray(place * size, (place + 1) * size);
  };
  return {
    ...{ sizes, name, causal, p, shape, sequence, head, rows, columns, row, column, matrixOf },
    count: tensors[name].length,
    hasHeads: shape.length === 4,
    /** Whether dropout takes a weight. @param {number} n */
    isGone: (n) => !isKept(data, n, sizes, p),
  };
}
