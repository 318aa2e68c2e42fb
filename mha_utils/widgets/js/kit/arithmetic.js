// Computes scores, softmax, dot products, sums, means, entropy and divisors for all views.

/** The whole numbers that divide n without remainder, smallest first. @param {number} n */
export function divisors(n) {
  return Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);
}

/**
 * q_i . k_j / sqrt(Dh) for the tokens in `ids`: T x T numbers, row by row. A head that is some
 * columns of a wider row says how wide the row is and at which column the head starts.
 * @param {ArrayLike<number>} q
 * @param {ArrayLike<number>} k
 * @param {ArrayLike<number>} ids
 * @param {number} headDim
 */
export function attentionScores(q, k, ids, headDim, width = headDim, start = 0) {
  const scores = new Float64Array(ids.length * ids.length);
  const scale = 1 / Math.sqrt(headDim);
  for (let i = 0, at = 0; i < ids.length; i += 1) {
    for (let j = 0; j < ids.length; j += 1, at += 1) {
      let sum = 0;
      const [atQ, atK] = [ids[i] * width + start, ids[j] * width + start];
      for (let d = 0; d < headDim; d += 1) sum += q[atQ + d] * k[atK + d];
      scores[at] = sum * scale;
    }
  }
  return scores;
}

/**
 * Row-wise softmax of scores / temperature over the keys that a query may look at.
 * @param {ArrayLike<number>} scores
 * @param {number} length
 * @param {number} temperature
 * @param {boolean} causal
 */
export function attentionWeights(scores, length, temperature, causal) {
  const weights = new Float32Array(length * length);
  for (let i = 0; i < length; i += 1) {
    const [start, end] = [i * length, i * length + (causal ? i + 1 : length)];
    let largest = -Infinity;
    for (let at = start; at < end; at += 1) largest = Math.max(largest, scores[at]);
    let all = 0;
    for (let at = start; at < end; at += 1) {
      all += weights[at] = Math.exp((scores[at] - largest) / temperature);
    }
    for (let at = start; at < end; at += 1) weights[at] /= all;
  }
  return weights;
}

/**
 * Shares that sum to 1, over the places that are allowed; all zero when none is.
 * @param {number[]} scores
 * @param {(place: number) => boolean} isAllowed
 */
export function softmax(scores, isAllowed = () => true) {
  const kept = scores.map((score, j) => (isAllowed(j) ? score : -Infinity));
  const largest = Math.max(...kept);
  if (largest === -Infinity) return scores.map(() => 0);
  const parts = kept.map((score) => Math.exp(score - largest));
  const all = sum(parts);
  return parts.map((part) => part / all);
}

/**
 * The sum of products of two lists of one length.
 * @param {number[]} a
 * @param {number[]} b
 */
export function dot(a, b) {
  return a.reduce((total, value, d) => total + value * b[d], 0);
}

/** @param {number[]} numbers */
export function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

/** @param {number[]} numbers */
export function mean(numbers) {
  return sum(numbers) / numbers.length;
}

/**
 * A flat list cut into rows of `width` plain numbers.
 * @param {Float32Array | Float64Array} flat
 * @param {number} width
 */
export function rowsOf(flat, width) {
  return Array.from(
    { length: flat.length / width },
    (_, i) => Array.from(flat.subarray(i * width, (i + 1) * width)),
  );
}

/**
 * How spread out one row of shares is, in nats: 0 = all on one, log(n) = alike.
 * @param {number[] | Float32Array} shares
 */
export function entropy(shares) {
  let spread = 0;
  for (const share of shares) if (share > 0) spread -= share * Math.log(share);
  return spread;
}
