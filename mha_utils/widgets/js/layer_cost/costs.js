// Counts arithmetic, memory traffic and attention maps for three ways to compute a layer.
import { count } from "../kit/words.js";

/** @typedef {ReturnType<typeof compute>} State */
/** @typedef {"flops" | "moved" | "maps"} Quantity */
/** @typedef {{ key: Quantity, title: string, unit: string }} Panel */
/** @typedef {{ b: number, t: number, d: number, h: number, causal: boolean, size: number }} Work */

export const LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
export const NAMES = ["loop over heads", "explicit", "fused"];
/** @type {Panel[]} */
export const PANELS = [
  { key: "flops", title: "Arithmetic", unit: "FLOP" },
  { key: "moved", title: "Memory traffic", unit: "B" },
  { key: "maps", title: "Attention maps held", unit: "B" },
];

/** @param {import("../kit/model.js").Model} model */
export function compute(model) {
  /** @type {number[]} */
  const [b, t, d, h] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((n) => model.get(n));
  /** @type {boolean} */
  const causal = model.get("is_causal");
  const size = model.get("is_half") ? 2 : 4;
  /** @param {number} length */
  const at = (length) =>
    Object.fromEntries(
      NAMES.map((name) => [name, costOf(name, { b, t: length, d, h, causal, size })]),
    );
  return { b, t, d, h, causal, size, now: at(t), curves: LENGTHS.map(at) };
}

/**
 * The counts, as in core/costs.py: computed, moved between memory and processor, held as maps.
 * @param {string} name
 * @param {Work} work
 * @returns {Record<Quantity, number>}
 */
export function costOf(name, { b, t, d, h, causal, size }) {
  const [vectors, cells] = [b * t * d, b * h * t * t];
  const isFused = name === "fused";
  const pairs = isFused && causal ? (t * (t + 1)) / 2 : t * t;
  let numbers = isFused ? 12 * vectors : 16 * vectors + (causal ? 6 : 4) * cells;
  if (name === "loop over heads") numbers += 3 * (h - 1) * vectors;
  const kept = isFused ? 0 : (2 * cells) / (name === "explicit" ? 1 : h);
  return {
    flops: 8 * vectors * d + 4 * b * d * pairs,
    moved: (numbers + 4 * d * d) * size,
    maps: kept * size,
  };
}

/**
 * Three digits and a prefix: 12.9 G.
 * @param {number} value
 * @param {string} unit
 */
export function short(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let step = 0;
  let left = value;
  while (left >= 999.5 && step < 5) [left, step] = [left / 1000, step + 1];
  const digits = step === 0 || left >= 99.95 ? 0 : left >= 9.995 ? 1 : 2;
  return `${rounded(left, digits)} ${prefixes[step]}${unit}`;
}

/**
 * Halves go up, as in Python's.
 * @param {number} number
 * @param {number} digits
 */
function rounded(number, digits) {
  return (Math.floor(number * 10 ** digits + 0.5) / 10 ** digits).toFixed(digits);
}

/** @param {State} state */
export function describe({ b, t, d, h, causal, size, now }) {
  const { explicit, fused } = now;
  return (
    `(${b}, ${t}, ${d}) with ${count(h, "head")}, ${size * 8} bits` +
    `${causal ? ", causal" : ""}: explicit computes ${short(explicit.flops, "FLOP")}, moves ` +
    `${short(explicit.moved, "B")} and holds ${short(explicit.maps, "B")} of attention maps; ` +
    `fused computes ${rounded(explicit.flops / fused.flops, 1)} times less, moves ` +
    `${rounded(explicit.moved / fused.moved, 1)} times less and holds none.`
  );
}
