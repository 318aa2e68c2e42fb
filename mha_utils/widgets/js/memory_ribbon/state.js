// Works out the tensor after a step and where its chosen number is, and says so.
import { layOut, RIGHT, STEPS } from "./steps.js";
import { indexOf, isContiguous, placeOf, rowMajor, valuesOf } from "./strided.js";

/** @typedef {ReturnType<typeof read>} State */

export const SIZES = ["batch_size", "seq_len", "num_heads", "head_dim"];
export const CHOSEN = ["sequence", "token", "head", "column"];

/** @param {import("../kit/model.js").Model} model */
export function read(model) {
  /** @type {number[]} */
  const sizes = SIZES.map((name) => model.get(name));
  const chosen = CHOSEN.map((name, d) => Math.min(model.get(name), sizes[d] - 1));
  /** @type {string} */
  const step = model.get("step");
  const { code, letters, start } = STEPS[step];
  const tensor = layOut(step, sizes);
  const [values, steps] = [valuesOf(tensor), rowMajor(sizes)];
  const number = placeOf(chosen, steps);
  const index = indexOf(values.indexOf(number), tensor.shape);
  const before = layOut(start, sizes).storage;
  const right = valuesOf(layOut(RIGHT[step] ?? step, sizes));
  return {
    ...{ step, code, letters, sizes, chosen, tensor, values, number, index },
    size: values.length,
    place: placeOf(index, tensor.strides),
    origins: values.map((_, n) => indexOf(n, sizes, steps)),
    moved: tensor.storage.some((n, place) => n !== before[place]),
    isRight: right.every((n, i) => n === values[i]),
  };
}

/** @param {State} state */
export function describe(state) {
  const { step, index, place, tensor, chosen: [b, t, h] } = state;
  const order = isContiguous(tensor) ? "contiguous" : "not contiguous";
  const moved = state.moved ? "the numbers were copied into a new order" : "no number moved";
  const where = state.sizes[0] > 1 ? ` in sequence ${b}` : "";
  return (
    `${step === "q" ? "q" : `After ${step}`}: shape (${tensor.shape.join(", ")}), ` +
    `strides (${tensor.strides.join(", ")}), ${order}${step === "q" ? "" : `; ${moved}`}. ` +
    `${verdict(state)}Element [${index.join(", ")}] is at place ${place} of the storage: ` +
    `token ${t} of head ${h}${where}.`
  );
}

/** @param {State} state */
function verdict({ step, isRight, values, origins, sizes: [, T, H, Dh] }) {
  if (!(step in RIGHT)) return "";
  if (isRight) return "With one token or one head the numbers come out right all the same. ";
  const byHead = step === "wrong view";
  const first = values.slice(0, (byHead ? T : H) * Dh).map((n) => origins[n]);
  const [tokens, heads] = [1, 2].map((d) => [...new Set(first.map((o) => o[d]))].sort());
  return (
    `Right shape, wrong numbers: the ${byHead ? "block of head 0" : "row of token 0"} holds ` +
    `${listed("token", tokens)} of ${listed("head", heads)}. `
  );
}

/**
 * @param {string} noun
 * @param {number[]} numbers
 */
function listed(noun, numbers) {
  const last = numbers[numbers.length - 1];
  const most = numbers.slice(0, -1);
  return most.length ? `${noun}s ${most.join(", ")} and ${last}` : `${noun} ${last}`;
}
