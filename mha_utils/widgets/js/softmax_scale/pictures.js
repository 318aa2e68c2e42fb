// Draws weights as bars, and the largest slope of softmax for every head width.
import THEME from "../kit/theme.json" with { type: "json" };
import { prepare, roomFor } from "../kit/canvas.js";
import { css, headColour, weightColour } from "../kit/colour.js";
import { fixed } from "../kit/words.js";
import { WIDTHS } from "./state.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const [WIDEST, TALL, SLOPES_TALL] = [440, 210, 150]; // CSS pixels
const COLOURS = [THEME.warning, headColour(0)]; // of the left and the right side

/**
 * A bar for the weight of each key, the weight above and the score below.
 * @param {HTMLCanvasElement} canvas
 * @param {import("./state.js").Side} side
 * @param {Colours} colours
 */
export function drawBars(canvas, { scores, weights }, { ink, line }) {
  const width = roomFor(canvas, WIDEST);
  const [step, floor] = [width / weights.length, TALL - 46];
  const pen = prepare(canvas, width, TALL);
  const digits = step < 34 ? 1 : 2;
  pen.textAlign = "center";
  pen.font = `${step < 38 ? 10.5 : 12}px sans-serif`;
  weights.forEach((weight, j) => {
    const [x, tall] = [(j + 0.5) * step, weight * (floor - 18)];
    pen.fillStyle = css(weightColour(weight));
    pen.fillRect(x - step * 0.4, floor - tall, step * 0.8, tall);
    pen.strokeStyle = line;
    pen.lineWidth = 0.8;
    pen.strokeRect(x - step * 0.4, floor - tall, step * 0.8, tall);
    pen.fillStyle = ink;
    pen.fillText(weight.toFixed(digits), x, floor - tall - 5);
    pen.fillText(fixed(scores[j], digits - 1), x, floor + 16);
  });
  pen.strokeStyle = ink;
  pen.strokeRect(0, floor, width, 0);
  pen.font = "12px sans-serif";
  pen.textAlign = "left";
  pen.fillText("scores, one for each key", 2, floor + 36);
}

/**
 * Two lines over all Dh, each with a mark of its own at the present one.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawSlopes(canvas, { now, sides }, { ink, line }) {
  const width = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, width, SLOPES_TALL);
  const [left, right, top, floor] = [36, width - 14, 22, SLOPES_TALL - 24];
  /** @param {number} n */
  const x = (n) => left + (n * (right - left)) / (WIDTHS.length - 1);
  /** @param {number} slope */
  const y = (slope) => floor - slope * 4 * (floor - top);
  pen.font = "11.5px sans-serif";
  pen.fillStyle = ink;
  pen.strokeStyle = line;
  pen.textAlign = "center";
  WIDTHS.forEach((headDim, n) => pen.fillText(String(headDim), x(n), floor + 16));
  pen.textAlign = "right";
  for (const slope of [0, 0.25]) {
    pen.fillText(String(slope), left - 6, y(slope) + 4);
    pen.strokeRect(left, y(slope), right - left, 0);
  }
  pen.setLineDash([3, 3]);
  pen.strokeRect(x(now), top, 0, floor - top);
  pen.setLineDash([]);
  sides.forEach(({ slopes }, side) => drawLine(pen, side, slopes.map((s, n) => [x(n), y(s)])));
  pen.textAlign = "left";
  sides.forEach(({ name }, side) => {
    const at = left + 8 + side * 130;
    drawMark(pen, side, at, 9);
    pen.fillStyle = ink;
    pen.fillText(side ? "q · k / √Dh" : name, at + 9, 13);
  });
}

/**
 * @param {Pen} pen
 * @param {number} side
 * @param {number[][]} points
 */
function drawLine(pen, side, points) {
  pen.strokeStyle = COLOURS[side];
  pen.lineWidth = 2;
  pen.beginPath();
  for (const [x, y] of points) pen.lineTo(x, y);
  pen.stroke();
  for (const [x, y] of points) drawMark(pen, side, x, y);
}

/**
 * A square for the left side, a circle for the right one.
 * @param {Pen} pen
 * @param {number} side
 * @param {number} x
 * @param {number} y
 */
function drawMark(pen, side, x, y) {
  pen.fillStyle = COLOURS[side];
  pen.beginPath();
  if (side) pen.arc(x, y, 4, 0, 2 * Math.PI);
  else pen.rect(x - 3.5, y - 3.5, 7, 7);
  pen.fill();
}
