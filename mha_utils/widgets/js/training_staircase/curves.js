// Draws the loss and R² of one training, step by step, as far as it has come.
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { ceiling } from "./state.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Measured} Measured */
/** @typedef {{ wide: number, x: (step: number) => number, y: (value: number) => number }} Axes */

const [WIDEST, TALL, LEFT, TOP, BOTTOM, RIGHT] = [460, 300, 40, 36, 40, 12]; // CSS pixels
const LINES = [
  { name: "loss", of: 1, colour: headColour(3), dash: [6, 3] },
  { name: "R²", of: 2, colour: headColour(0), dash: [] },
];

/**
 * Two lines that grow, and a thin one at the most that theory allows this model.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawCurves(canvas, { curve, steps, runs }, colours) {
  const wide = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, wide, TALL);
  const top = Math.max(1, ...curve.map(([, loss]) => loss));
  /** @type {Axes} */
  const axes = {
    wide,
    x: (step) => LEFT + (step / steps) * (wide - LEFT - RIGHT),
    y: (value) => TALL - BOTTOM - (Math.max(value, 0) / top) * (TALL - TOP - BOTTOM),
  };
  drawAxes(pen, axes, steps, colours);
  const run = runs.at(-1);
  if (!curve.length || !run) return;
  const most = axes.y(ceiling(run[0], run[1], run[2]));
  pen.fillStyle = colours.ink;
  pen.fillRect(LEFT, most - 0.75, wide - LEFT - RIGHT, 1.5);
  pen.fillRect(LEFT + 160, 12, 24, 1.5);
  pen.textAlign = "left";
  pen.fillText("R² at most", LEFT + 190, 12);
  LINES.forEach((line, n) => drawLine(pen, axes, curve, line, LEFT + 80 * n, colours.ink));
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {number} steps
 * @param {Colours} colours
 */
function drawAxes(pen, { wide, x, y }, steps, { ink, line }) {
  pen.textBaseline = "middle";
  pen.font = "12px sans-serif";
  pen.textAlign = "right";
  for (const tick of [0, 0.5, 1]) {
    pen.fillStyle = line;
    pen.fillRect(LEFT, y(tick), wide - LEFT - RIGHT, 0.8);
    pen.fillStyle = ink;
    pen.fillText(String(tick), LEFT - 6, y(tick));
  }
  pen.textAlign = "center";
  pen.fillText("0", x(0), TALL - BOTTOM + 14);
  pen.textAlign = "right";
  pen.fillText(String(steps), x(steps), TALL - BOTTOM + 14);
  pen.textAlign = "center";
  pen.fillText("training step", (LEFT + wide) / 2, TALL - 8);
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {Measured[]} curve
 * @param {typeof LINES[number]} line
 * @param {number} left where its name stands
 * @param {string} ink
 */
function drawLine(pen, { x, y }, curve, { name, of, colour, dash }, left, ink) {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.setLineDash(dash);
  pen.beginPath();
  for (const measured of curve) pen.lineTo(x(measured[0]), y(measured[of]));
  pen.stroke();
  pen.beginPath();
  pen.moveTo(left, 12);
  pen.lineTo(left + 24, 12);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = ink;
  pen.textAlign = "left";
  pen.fillText(name, left + 30, 12);
}
