// Reads the sizes B, T, D and H, and says how many numbers x and q have.

/** @typedef {ReturnType<typeof read>} State */

/** @param {import("../kit/model.js").Model} model */
export function read(model) {
  const [b, t, d, h] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((name) =>
    model.get(name)
  );
  return { b, t, d, h, dh: Math.floor(d / h) };
}

/** @param {State} state */
export function describe({ b, t, d, h, dh }) {
  return (
    `x is (B, T, D) = (${b}, ${t}, ${d}): ${
      b * t * d
    } numbers, and every head reads all of them. ` +
    `What is cut is q, k and v: into H = ${h} pieces of Dh = D / H = ${dh} columns, ` +
    `so q is (B, H, T, Dh) = (${b}, ${h}, ${t}, ${dh}): ${b * h * t * dh} numbers.`
  );
}
