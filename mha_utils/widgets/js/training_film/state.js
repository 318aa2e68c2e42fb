// Reads the maps and scores of one training step, and describes them in words.
import { mean } from "../kit/arithmetic.js";
import { asLabel } from "../kit/words.js";

/** @typedef {ReturnType<typeof read>} State */

/**
 * @param {import("../kit/model.js").Model} model
 * @param {Uint8Array} bytes
 */
export function read(model, bytes) {
  const [, numExamples, numHeads, length] = model.get("shape");
  /** @type {[number, number]} */
  const [frame, example] = [model.get("frame"), model.get("example")];
  /** @type {number[]} */
  const steps = model.get("steps");
  /** @type {[name: string, places: number[][]][]} */
  const asked = model.get("sources");
  /** @type {[name: string, values: number[]][]} */
  const curves = model.get("curves");
  /** @type {string[]} */
  const heads = model.get("heads");
  /** @type {string[]} */
  const words = model.get("labels")[example].map(asLabel);
  const size = length * length;
  const weights = Array.from({ length: numHeads }, (_, h) => {
    const start = ((frame * numExamples + example) * numHeads + h) * size;
    return Float64Array.from(bytes.subarray(start, start + size), (byte) => byte / 255);
  });
  const sources = asked.map(([name, places]) => ({ name, places: places[example] }));
  return {
    ...{ frame, length, weights, sources, heads, words, steps, curves },
    step: steps[frame],
    marks: model.get("marks"),
  };
}

/** @param {State} state */
export function describe({ step, curves, frame, heads, weights, sources, length }) {
  const scores = curves.map(([name, values]) => `${name} ${tenths(values[frame])}`).join(", ");
  const looks = heads.map((head, h) => {
    const masses = sources.map(({ places }) =>
      mean(places.flatMap((j, i) => (j < 0 ? [] : [weights[h][i * length + j]])))
    );
    const best = masses.indexOf(Math.max(...masses));
    return `${head} gives ${tenths(masses[best])} to “${sources[best].name}”`;
  });
  return `Step ${step}. Right: ${scores}. Here ${looks.join(", ")}.`;
}

/**
 * What training gives is not the same to two decimals on every machine.
 * @param {number} share
 */
export function tenths(share) {
  return (Math.round(10 * share) / 10).toFixed(1);
}
