// Runs the language model: letters in, scores of the next letter and attention weights out.
import { softmax } from "../kit/arithmetic.js";
import { halves } from "../kit/model.js";

/** @typedef {Float32Array<ArrayBuffer>} Numbers */
/** @typedef {(name: string) => { rows: number, columns: number, numbers: Numbers }} Tables */
/** @typedef {{ name: string, keys: Numbers, values: Numbers }} Block */

const EPS = 1e-5; // of torch's LayerNorm

/**
 * The tensors by name: whole numbers, times the scale of their row.
 * @param {import("../kit/model.js").Model} model
 * @returns {Tables}
 */
function unpack(model) {
  const { buffer, byteOffset } = model.get("numbers");
  const scales = halves(model.get("scales"));
  const tables = new Map();
  let [at, row] = [byteOffset, 0];
  for (const [name, rows, columns] of model.get("shapes")) {
    const own = scales.subarray(row, row + rows);
    const whole = new Int8Array(buffer, at, rows * columns);
    const numbers = Float32Array.from(whole, (n, i) => n * own[Math.floor(i / columns)]);
    tables.set(name, { rows, columns, numbers });
    [at, row] = [at + whole.length, row + rows];
  }
  return (name) => tables.get(name);
}

/**
 * A function that gives the scores of every letter to come after these ones, and the weights that
 * the last one gives to each of them, head by head. It keeps keys and values (chapter 15): where a
 * text begins as the one before, only the rest is computed.
 * @param {import("../kit/model.js").Model} model
 */
export function reader(model) {
  const tables = unpack(model);
  const { rows: room, columns: width } = tables("place.weight");
  /** @type {string[]} as "block.head" */
  const names = model.get("heads");
  const blocks = [...new Set(names.map((name) => `blocks.${name.split(".")[0]}`))].map((name) => {
    const [keys, values] = [0, 1].map(() => new Float32Array(room * width));
    return { name, keys, values };
  });
  const headDim = (width * blocks.length) / names.length;
  /** @type {{ ids: number[], scores: Numbers, weights: number[][] }} */
  let last = { ids: [], scores: new Float32Array(0), weights: [] };
  return (/** @type {number[]} */ ids) => {
    const changed = ids.findIndex((id, n) => id !== last.ids[n]);
    if (changed < 0 && ids.length === last.ids.length) return last;
    let [x, weights] = [new Float32Array(0), /** @type {number[][]} */ ([])];
    for (let n = changed < 0 ? ids.length - 1 : changed; n < ids.length; n += 1) {
      const [letter, place] = [row(tables, "embed", ids[n]), row(tables, "place", n)];
      [x, weights] = [plus(letter, place), []];
      for (const own of blocks) {
        const isRead = own !== blocks[blocks.length - 1] || n === ids.length - 1;
        x = block(tables, own, x, n, headDim, isRead ? weights : null);
      }
    }
    const scores = linear(tables, "readout", norm(tables, "norm", x));
    return last = { ids, scores, weights };
  };
}

/**
 * One block on the letter at a place; the weights of its heads are added to `weights`. Of a letter
 * whose output nobody reads (`null`), keys and values are kept, no more.
 * @type {(tables: Tables, own: Block, x: Numbers, place: number, headDim: number,
 *   weights: number[][] | null) => Numbers}
 */
function block(tables, { name, keys, values }, x, place, headDim, weights) {
  const width = x.length;
  const normed = norm(tables, `${name}.attention_norm`, x);
  /** @param {string} part */
  const project = (part) => linear(tables, `${name}.attention.${part}_proj`, normed);
  keys.set(project("k"), place * width);
  values.set(project("v"), place * width);
  if (!weights) return x;
  const q = project("q");
  const gathered = new Float32Array(width);
  for (let start = 0; start < width; start += headDim) {
    const scores = Array.from({ length: place + 1 }, (_, j) => {
      let sum = 0;
      for (let d = start; d < start + headDim; d += 1) sum += q[d] * keys[j * width + d];
      return sum / Math.sqrt(headDim);
    });
    weights.push(softmax(scores));
    weights[weights.length - 1].forEach((share, j) => {
      for (let d = start; d < start + headDim; d += 1) gathered[d] += share * values[j * width + d];
    });
  }
  const board = plus(x, linear(tables, `${name}.attention.out_proj`, gathered));
  const wide = linear(tables, `${name}.mlp.0`, norm(tables, `${name}.mlp_norm`, board)).map(gelu);
  return plus(board, linear(tables, `${name}.mlp.2`, wide));
}

/** @type {(tables: Tables, name: string, n: number) => Numbers} */
function row(tables, name, n) {
  const { columns, numbers } = tables(`${name}.weight`);
  return numbers.subarray(n * columns, (n + 1) * columns);
}

/** @type {(x: Numbers, y: Numbers) => Numbers} */
function plus(x, y) {
  return x.map((number, d) => number + y[d]);
}

/** @type {(tables: Tables, name: string, x: Numbers) => Numbers} */
function linear(tables, name, x) {
  const { columns, numbers } = tables(`${name}.weight`);
  const out = tables(`${name}.bias`).numbers.slice();
  for (let i = 0, at = 0; i < out.length; i += 1) {
    let [even, odd, j] = [0, 0, 0]; // two sums at a time: neither waits for the other
    for (; j < columns - 1; j += 2, at += 2) {
      even += numbers[at] * x[j];
      odd += numbers[at + 1] * x[j + 1];
    }
    if (j < columns) even += numbers[at++] * x[j];
    out[i] += even + odd;
  }
  return out;
}

/** @type {(tables: Tables, name: string, x: Numbers) => Numbers} */
function norm(tables, name, x) {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const spread = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length + EPS);
  const [scale, shift] = ["weight", "bias"].map((part) => tables(`${name}.${part}`).numbers);
  return x.map((number, d) => ((number - mean) / spread) * scale[d] + shift[d]);
}

/** As torch's: x times the share of a normal distribution that is below x. @param {number} x */
export function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z); // Abramowitz and Stegun (1964), 7.1.26: erf to 1.5e-7
  const high = 1.421413741 + t * (-1.453152027 + t * 1.061405429);
  const beyond = 0.5 * t * (0.254829592 + t * (-0.284496736 + t * high)) * Math.exp(-z * z);
  return x * (x < 0 ? beyond : 1 - beyond);
}
