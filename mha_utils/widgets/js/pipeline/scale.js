// Makes the two colour scales of tensors: one for shares, one for numbers with a sign.
import { pixelsOf } from "../kit/canvas.js";
import { hexOf, inkOn, paletteColour, palettesNow } from "../kit/colour.js";
import { SHARES } from "./tensors.js";

/** @typedef {{ css: string[], ink: string[], pixels: Uint32Array }} Scale */

const HIDDEN = [170, 170, 170]; // the colour of −∞ in a small picture

/** @type {Map<number[][], Scale>} */
const scales = new Map();

/**
 * Shares have one scale, numbers with a sign another: 256 colours and one for −∞.
 * @param {string} name
 */
export function scaleOf(name) {
  const palette = palettesNow()[SHARES.includes(name) ? "weights" : "signed"];
  const scale = scales.get(palette) ?? makeScale(palette);
  scales.set(palette, scale);
  return scale;
}

/**
 * @param {number[][]} palette
 * @returns {Scale}
 */
function makeScale(palette) {
  const colours = Array.from({ length: 256 }, (_, i) => paletteColour(palette, i / 255));
  colours.push(HIDDEN);
  const css = colours.map(hexOf);
  return { css, ink: css.map(inkOn), pixels: pixelsOf(colours) };
}

/**
 * For each number its place in the scale; 256 is −∞.
 * @param {string} name
 * @param {import("./forward.js").Numbers} matrix
 */
export function levelsOf(name, matrix) {
  let largest = 1e-9;
  for (const value of matrix) if (value !== -Infinity) largest = Math.max(largest, Math.abs(value));
  /** @param {number} value */
  const share = (value) =>
    SHARES.includes(name) ? value / Math.max(largest, 1) : 0.5 + value / largest / 2;
  return Uint16Array.from(
    matrix,
    (value) => (value === -Infinity ? 256 : Math.round(share(value) * 255)),
  );
}
