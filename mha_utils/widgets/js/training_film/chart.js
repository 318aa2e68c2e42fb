// Draws the scores at all training steps as lines, and marks the present step.
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { markColour } from "./maps.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */
/** @typedef {{ wide: number, x: (frame: number) => number, y: (score: number) => number }} Axes */

const [WIDEST, TALL, LEFT, BOTTOM, LEGEND] = [640, 170, 40, 34, 120]; // CSS pixels

/**
 * The scores at every step, one line for each; where the steps are drawn.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawChart(canvas, state, colours) {
  const { steps, frame } = state;
  const wide = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, wide, TALL);
  const last = steps[steps.length - 1];
  /** @type {Axes} */
  const axes = {
    wide,
    x: (n) => LEFT + (steps[n] / last) * (wide - LEFT - LEGEND),
    y: (score) => TALL - BOTTOM - score * (TALL - BOTTOM - 12),
  };
  drawAxes(pen, axes, colours);
  drawLines(pen, axes, state, colours.ink);
  pen.fillRect(axes.x(frame) - 1.5, 6, 3, TALL - BOTTOM - 6);
  return steps.map((_, n) => axes.x(n));
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {Colours} colours
 */
function drawAxes(pen, { wide, y }, { ink, line }) {
  pen.font = "12px sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const tick of [0, 0.5, 1]) {
    pen.fillStyle = line;
    pen.fillRect(LEFT, y(tick), wide - LEFT - LEGEND, 0.8);
    pen.fillStyle = ink;
    pen.fillText(String(tick), LEFT - 6, y(tick));
  }
  pen.textAlign = "center";
  pen.fillText("training step", (LEFT + wide - LEGEND) / 2, TALL - 8);
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {State} state
 * @param {string} ink
 */
function drawLines(pen, { wide, x, y }, { curves, sources }, ink) {
  pen.textAlign = "left";
  curves.forEach(([name, values], c) => {
    const r = sources.findIndex((source) => source.name === name);
    pen.strokeStyle = r < 0 ? headColour(c) : markColour(r);
    pen.lineWidth = 2;
    pen.setLineDash(c % 2 ? [6, 3] : []);
    pen.beginPath();
    values.forEach((score, n) => pen.lineTo(x(n), y(score)));
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = pen.strokeStyle;
    pen.fillRect(wide - LEGEND + 8, 14 + 20 * c, 12, 10);
    pen.fillStyle = ink;
    pen.fillText(name, wide - LEGEND + 26, 19 + 20 * c);
  });
}
