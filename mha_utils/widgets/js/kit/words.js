// Writes labels, numbers and counts as text, and names the key with the largest share.
const TIE = 1e-6; // shares that are closer than rounding are equal

/**
 * A word as it stands in a picture: in one line and not longer than 24 characters.
 * @param {string | number} word
 */
export function asLabel(word) {
  const line = [...String(word).split(/\s+/).filter(Boolean).join(" ")];
  return line.length <= 24 ? line.join("") : `${line.slice(0, 23).join("")}…`;
}

/**
 * The key with the largest share of `among` keys; where several have it, how many.
 * @param {string[]} words
 * @param {ArrayLike<number>} shares
 * @param {number} among
 */
export function mostAt(words, shares, among) {
  const largest = Math.max(...Array.from(shares));
  const best = words.map((_, j) => j).filter((j) => shares[j] > largest - TIE);
  if (best.length === 1) return `key ${best[0]}, “${words[best[0]]}”`;
  return best.length === 2 && among > 2
    ? `keys ${best.map((j) => `${j} “${words[j]}”`).join(" and ")} alike`
    : `${best.length} keys alike`;
}

/**
 * With so many decimals; a minus is a minus and 0 has none.
 * @param {number} number
 * @param {number} digits
 */
export function fixed(number, digits = 2) {
  if (number === -Infinity) return "−∞";
  const text = number.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

/**
 * So many of them: 1 head, 2 heads.
 * @param {number} number
 * @param {string} noun
 */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
