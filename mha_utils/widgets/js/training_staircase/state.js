// Reads the chosen model and what was trained, and says how far it has come.
import { count, fixed } from "../kit/words.js";

/** @typedef {ReturnType<typeof read>} State */
/** @typedef {[heads: number, width: number, vectors: number, steps: number, r2: number]} Run */
/** @typedef {[step: number, loss: number, r2: number]} Measured */

const WIDTH = 8; // of each vector that is looked up

/**
 * The most R² that theory allows.
 * @param {number} heads
 * @param {number} width
 * @param {number} vectors
 */
export function ceiling(heads, width, vectors) {
  return Math.min(1, (heads * Math.min(WIDTH, width)) / (WIDTH * vectors));
}

/** @param {import("../kit/model.js").Model} model */
export function read(model) {
  /** @type {number[]} */
  const [heads, width, vectors, steps] = ["num_heads", "head_dim", "num_lookups", "steps"]
    .map((name) => model.get(name));
  /** @type {Run[]} */
  const runs = model.get("runs");
  /** @type {Measured[]} */
  const curve = model.get("curve");
  /** @type {[heads: number, width: number, r2: number][]} */
  const recorded = model.send ? [] : model.get("recorded"); // else readers find it out themselves
  return {
    ...{ heads, width, vectors, steps, runs, curve },
    training: Boolean(model.send && model.get("training")),
    recorded: vectors === 4 ? recorded.filter((row) => row[1] === width) : [],
  };
}

/** @param {State} state */
export function describe(state) {
  const { heads, width, vectors } = state;
  const most = fixed(ceiling(heads, width, vectors), 3);
  return `${named(heads, width, vectors)}: theory allows R² ${most} at most. ${last(state)}`;
}

/** @param {State} state */
function last({ runs, steps, training }) {
  const run = runs.at(-1);
  if (!run) return "Nothing is trained yet.";
  const [heads, width, vectors, done, r2] = run;
  const who = `Run ${runs.length} (${named(heads, width, vectors)})`;
  if (training) return `${who} is at step ${done} of ${steps}: R² ${fixed(r2, 3)}.`;
  const stopped = done === steps ? "" : ` of ${steps}: it was stopped`;
  return `${who}: R² ${fixed(r2, 3)} after ${count(done, "step")}${stopped}.`;
}

/**
 * @param {number} heads
 * @param {number} width
 * @param {number} vectors
 */
function named(heads, width, vectors) {
  return `${count(heads, "head")} of width ${width}, ${count(vectors, "vector")}`;
}
