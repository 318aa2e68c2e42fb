// Makes, sizes and labels canvases, and draws hatching, turned words and square maps on them.
import THEME from "./theme.json" with { type: "json" };
import { css, paletteColour, palettesNow, suit } from "./colour.js";
import { element } from "./element.js";

/** @typedef {import("./mount.js").View} View */
/** @typedef {import("./grid.js").Place} Place */
/** @typedef {HTMLCanvasElement & { place: Place }} Canvas where its grid lies, once it is drawn */
/** @typedef {CanvasRenderingContext2D} Pen */
/** @typedef {{ ink: string, paper: string, line: string }} Colours of the page around a view */

/**
 * A picture that can only be looked at; its label says what there is to be seen.
 * @param {string} label
 */
export function picture(label) {
  return /** @type {Canvas} */ (element("canvas", { role: "img", "aria-label": label }));
}

/**
 * A picture that is worked with keys, one tab stop. Its label says what it is and what keys do,
 * and stays as it is; the sentence of the view describes it.
 * @param {View} view
 * @param {string} label
 */
export function keyedPicture(view, label) {
  return /** @type {Canvas} */ (element("canvas", {
    ...{ role: "application", tabindex: 0, "aria-label": label },
    "aria-describedby": view.finding.id,
  }));
}

/** @param {HTMLCanvasElement | OffscreenCanvas} canvas */
export function penOf(canvas) {
  return /** @type {Pen} */ (canvas.getContext("2d"));
}

/**
 * How wide a canvas may be: as its panel, or where that is not laid out, as it likes to be.
 * @param {HTMLElement} canvas
 * @param {number} most
 */
export function roomFor(canvas, most) {
  return Math.min(canvas.parentElement?.clientWidth || most, most);
}

/**
 * Size a canvas in CSS pixels, sharp on any screen; returns a cleared 2d context.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepare(canvas, width, height) {
  const scale = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    Object.assign(canvas, { width: w, height: h });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const pen = penOf(canvas);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/**
 * Colours of the page the view stands in, light or dark, as a canvas understands them.
 * @param {HTMLElement} node
 * @returns {Colours}
 */
export function pageColours(node) {
  const root = /** @type {HTMLElement} */ (node.closest(".mha-view"));
  const style = getComputedStyle(root);
  const colours = { ink: style.color, paper: style.backgroundColor, line: style.borderTopColor };
  const isDark = String(suit(colours.paper) !== THEME.light);
  if (root.dataset.dark !== isDark) paintScales(root, isDark);
  return colours;
}

/**
 * Give the colour scales of a view (`scale` in element.js) the colours that its pictures have.
 * @param {HTMLElement} root
 * @param {string} isDark
 */
function paintScales(root, isDark) {
  root.dataset.dark = isDark;
  for (const [name, palette] of Object.entries(palettesNow())) {
    root.style.setProperty(`--mha-${name}`, `linear-gradient(90deg, ${palette.map(css).join()})`);
  }
}

/**
 * Diagonal hatching: "masked" must not depend on seeing a colour.
 * @param {Pen} pen
 * @param {Colours} colours
 */
export function hatching(pen, { ink, paper }) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const small = penOf(tile);
  small.fillStyle = paper;
  small.fillRect(0, 0, 6, 6);
  small.strokeStyle = ink;
  small.globalAlpha = 0.45;
  small.beginPath();
  small.moveTo(-1, 7);
  small.lineTo(7, -1);
  small.stroke();
  return /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
}

/**
 * Write a word that is turned around the place where it stands.
 * @param {Pen} pen
 * @param {string} word
 * @param {number} x
 * @param {number} y
 * @param {number} angle
 */
export function writeTurned(pen, word, x, y, angle = -Math.PI / 2) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(angle);
  pen.fillText(word, 0, 0);
  pen.restore();
}

/**
 * Draw square maps of shares as pixels and scale them up to `size` CSS pixels; a share of 0.5 has
 * the colour of 0 where the palette is that of numbers with a sign.
 * @param {Pen} pen
 * @param {ArrayLike<number>} shares
 * @param {number} columns
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {"weights" | "signed"} name
 */
export function drawShares(pen, shares, columns, x, y, size, name = "weights") {
  const pixels = new ImageData(columns, shares.length / columns);
  const colours = pixelsNow(name);
  const top = colours.length - 1;
  const out = new Uint32Array(pixels.data.buffer);
  for (let i = 0; i < shares.length; i += 1) out[i] = colours[(shares[i] * top + 0.5) | 0];
  scratch ??= new OffscreenCanvas(1, 1);
  scratch.width = columns;
  scratch.height = pixels.height;
  penOf(scratch).putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(scratch, x, y, size, size);
}

/** @type {OffscreenCanvas | undefined} */
let scratch;
/** @type {Map<number[][], Uint32Array>} */
const made = new Map();

/**
 * The colours of a palette, on a page as it is now: 256 of shares, 257 of numbers with a sign, so
 * that one is in the middle.
 * @param {"weights" | "signed"} name
 */
function pixelsNow(name) {
  const palette = palettesNow()[name];
  const length = name === "weights" ? 256 : 257;
  const level = (/** @type {number} */ i) => paletteColour(palette, i / (length - 1));
  const pixels = made.get(palette) ?? pixelsOf(Array.from({ length }, (_, i) => level(i)));
  made.set(palette, pixels);
  return pixels;
}

/** Colours, each as the four bytes of one pixel. @param {number[][]} colours */
function pixelsOf(colours) {
  return new Uint32Array(Uint8Array.from(colours.flatMap((colour) => [...colour, 255])).buffer);
}

/**
 * Say what a picture shows now.
 * @param {HTMLElement} canvas
 * @param {string} text
 */
export function label(canvas, text) {
  if (canvas.getAttribute("aria-label") !== text) canvas.setAttribute("aria-label", text);
}
