// Computes every tensor of the forward pass, from the tokens to the output.
import { attentionScores, attentionWeights } from "../kit/arithmetic.js";
import { floats } from "../kit/model.js";
import { LENGTH, WIDTH } from "./tensors.js";

/** @typedef {import("./tensors.js").Sizes} Sizes */
/** @typedef {Float32Array | Float64Array} Numbers */
/** @typedef {Record<"inputs" | "matrices" | "biases" | "uniforms", Float32Array>} Data */

/**
 * @param {import("../kit/model.js").Model} model
 * @returns {Data}
 */
export function readBytes(model) {
  const names = ["inputs", "matrices", "biases", "uniforms"];
  const [inputs, matrices, biases, uniforms] = names.map((name) => floats(model.get(name)));
  return { inputs, matrices, biases, uniforms };
}

/**
 * Every tensor as flat numbers, from x[:B, :T, :D] and the first D rows and columns.
 * @param {Data} data
 * @param {Sizes} sizes
 * @param {boolean} causal
 * @param {number} p
 * @returns {Record<string, Numbers>}
 */
export function forward(data, sizes, causal, p) {
  const { B, T, D, H, Dh } = sizes;
  const x = new Float32Array(B * T * D).map((_, n) => {
    const row = Math.floor(n / D); // b * T + t
    return data.inputs[(Math.floor(row / T) * LENGTH + (row % T)) * WIDTH + (n % D)];
  });
  const [q, k, v] = [0, 1, 2].map((layer) => project(data, layer, x, D));
  const [qh, kh, vh] = [q, k, v].map((y) => splitHeads(y, sizes));
  const tokens = Array.from({ length: T }, (_, t) => t);
  const [cells, block] = [T * T, T * Dh];
  /** @param {(head: number) => Numbers} make */
  const each = (make) => joined(Array.from({ length: B * H }, (_, head) => make(head)));
  const scores = each((i) => attentionScores(part(qh, i, block), part(kh, i, block), tokens, Dh));
  const weights = each((i) => attentionWeights(part(scores, i, cells), T, 1, causal));
  const dropped = weights.map((w, n) => (isKept(data, n, sizes, p) ? w / (1 - p) : 0));
  const heads = each((i) => weighted(part(dropped, i, cells), part(vh, i, block), T, Dh));
  const merged = mergeHeads(heads, sizes);
  const masked = scores.map((score, n) => (causal && isFuture(n, T) ? -Infinity : score));
  return {
    ...{ x, q, k, v, "q by head": qh, "k by head": kh, "v by head": vh },
    ...{ scores, masked, weights, dropped, heads, merged },
    out: project(data, 3, merged, D),
  };
}

/**
 * x W^T + b for each row of D numbers, as nn.Linear.
 * @param {Data} data
 * @param {number} layer
 * @param {Numbers} x
 * @param {number} D
 */
function project({ matrices, biases }, layer, x, D) {
  const y = new Float32Array(x.length);
  for (let n = 0; n < y.length; n += 1) {
    const column = layer * WIDTH + (n % D);
    const start = n - (n % D);
    let sum = biases[column];
    for (let d = 0; d < D; d += 1) sum += x[start + d] * matrices[column * WIDTH + d];
    y[n] = sum;
  }
  return y;
}

/**
 * Where in (B, T, D) the n-th number of (B, H, T, Dh) is found.
 * @param {number} n
 * @param {Sizes} sizes
 */
function source(n, { T, D, H, Dh }) {
  const b = Math.floor(n / (T * D));
  const h = Math.floor(n / (T * Dh)) % H;
  const t = Math.floor(n / Dh) % T;
  return (b * T + t) * D + h * Dh + (n % Dh);
}

/**
 * @param {Float32Array} x
 * @param {Sizes} sizes
 */
function splitHeads(x, sizes) {
  return x.map((_, n) => x[source(n, sizes)]);
}

/**
 * @param {Float32Array} heads
 * @param {Sizes} sizes
 */
function mergeHeads(heads, sizes) {
  const merged = new Float32Array(heads.length);
  heads.forEach((value, n) => (merged[source(n, sizes)] = value));
  return merged;
}

/**
 * (T, T) weights times (T, Dh) values.
 * @param {Numbers} weights
 * @param {Numbers} v
 * @param {number} T
 * @param {number} Dh
 */
function weighted(weights, v, T, Dh) {
  return new Float32Array(T * Dh).map((_, n) => {
    const row = Math.floor(n / Dh) * T;
    let sum = 0;
    for (let t = 0; t < T; t += 1) sum += weights[row + t] * v[t * Dh + (n % Dh)];
    return sum;
  });
}

/**
 * Piece number `i` of so many numbers.
 * @param {Numbers} numbers
 * @param {number} i
 * @param {number} size
 */
function part(numbers, i, size) {
  return numbers.subarray(i * size, (i + 1) * size);
}

/** @param {Numbers[]} parts */
function joined(parts) {
  const all = new Float32Array(parts.length * parts[0].length);
  parts.forEach((numbers, i) => all.set(numbers, i * numbers.length));
  return all;
}

/**
 * Whether the key of the n-th weight comes after its query.
 * @param {number} n
 * @param {number} T
 */
export function isFuture(n, T) {
  return n % T > Math.floor(n / T) % T;
}

/**
 * Whether dropout leaves the n-th weight.
 * @param {Data} data
 * @param {number} n
 * @param {Sizes} sizes
 * @param {number} p
 */
export function isKept({ uniforms }, n, { T, H }, p) {
  const slice = Math.floor(n / (T * T)); // b * H + h
  const matrix = Math.floor(slice / H) * WIDTH + (slice % H);
  const place = (matrix * LENGTH + (Math.floor(n / T) % T)) * LENGTH + (n % T);
  return uniforms[place] >= Math.fround(p);
}
