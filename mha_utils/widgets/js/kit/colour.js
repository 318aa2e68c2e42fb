// Picks colours for shares, signed numbers and heads, and ink that is readable on them.
import THEME from "./theme.json" with { type: "json" };

/** @typedef {typeof THEME.light} Palettes */

/** Of the page that the views stand in: 0 has its colour, white or dark. @type {Palettes} */
let palettes = THEME.light;

/** From now on colours are those for a page of this colour. @param {string} paper */
export function suit(paper) {
  const [red, green, blue, opacity = 1] = paper.match(/[\d.]+/g)?.map(Number) ?? [];
  palettes = opacity && red + green + blue < 3 * 128 ? THEME.dark : THEME.light;
  return palettes;
}

/** The colours that now stand for shares, and for numbers with a sign. */
export function palettesNow() {
  return palettes;
}

/** The colour of a share between 0 and 1, as [red, green, blue]. @param {number} share */
export function weightColour(share) {
  return paletteColour(palettes.weights, share);
}

/**
 * The colour at a share between 0 and 1 of a list of colours, as [red, green, blue].
 * @param {number[][]} palette
 * @param {number} share
 */
export function paletteColour(palette, share) {
  const steps = palette.length - 1;
  const place = Math.min(Math.max(share, 0), 1) * steps;
  const low = Math.min(Math.floor(place), steps - 1);
  const [a, b] = [palette[low], palette[low + 1]];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (place - low)));
}

/** @param {number[]} colour */
export function css(colour) {
  return `rgb(${colour.join(",")})`;
}

/** The colour of a share as #rrggbb. @param {number} share */
export function weightHex(share) {
  return hexOf(weightColour(share));
}

/** The colour of a share between -1 and 1 as #rrggbb. @param {number} share */
export function signedHex(share) {
  return hexOf(paletteColour(palettes.signed, 0.5 + share / 2));
}

/** The colour of a head: there are more heads than colours. @param {number} head */
export function headColour(head) {
  return THEME.heads[head % THEME.heads.length];
}

/** A colour as #rrggbb. @param {number[]} colour */
function hexOf(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Black or white: whichever is easier to read on a colour of #rrggbb. @param {string} colour */
export function inkOn(colour) {
  const linear = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.179 ? "#000000" : "#ffffff";
}
