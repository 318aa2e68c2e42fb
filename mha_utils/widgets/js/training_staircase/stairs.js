// Draws the staircase that theory allows, and where the trained models have landed.
import THEME from "../kit/theme.json" with { type: "json" };
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { ceiling } from "./state.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */
/** @typedef {{ wide: number, step: number, x: (heads: number) => number, y: (r2: number) => number }} Axes */

export const MOST_HEADS = 12;
const [WIDEST, TALL, LEFT, TOP, BOTTOM] = [460, 300, 40, 12, 40]; // CSS pixels
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/**
 * A step for each number of heads, a point for each model.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawStairs(canvas, state, colours) {
  const wide = roomFor(canvas, WIDEST);
  const pen = prepare(canvas, wide, TALL);
  const step = (wide - LEFT - 6) / MOST_HEADS;
  /** @type {Axes} */
  const axes = {
    ...{ wide, step },
    x: (heads) => LEFT + (heads - 0.5) * step,
    y: (r2) => TALL - BOTTOM - Math.max(r2, 0) * (TALL - TOP - BOTTOM),
  };
  drawAxes(pen, axes, state.heads, colours);
  drawCeiling(pen, axes, state, colours.ink);
  drawRecorded(pen, axes, state, colours.ink);
  drawRuns(pen, axes, state, colours);
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {number} chosen
 * @param {Colours} colours
 */
function drawAxes(pen, { wide, x, y }, chosen, { ink, line }) {
  pen.textBaseline = "middle";
  pen.font = "12px sans-serif";
  pen.textAlign = "right";
  for (const tick of TICKS) {
    pen.fillStyle = line;
    pen.fillRect(LEFT, y(tick), wide - LEFT, 0.8);
    pen.fillStyle = ink;
    pen.fillText(String(tick), LEFT - 6, y(tick));
  }
  pen.textAlign = "center";
  for (let heads = 1; heads <= MOST_HEADS; heads += 1) {
    pen.font = `${heads === chosen ? "bold " : ""}12px sans-serif`;
    pen.fillText(String(heads), x(heads), TALL - BOTTOM + 14);
  }
  pen.font = "12px sans-serif";
  pen.fillText("number of heads H", (LEFT + wide) / 2, TALL - 8);
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {State} state
 * @param {string} ink
 */
function drawCeiling(pen, { x, y, step }, { width, vectors }, ink) {
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.beginPath();
  for (let heads = 1; heads <= MOST_HEADS; heads += 1) {
    const most = y(ceiling(heads, width, vectors));
    pen.lineTo(x(heads) - step / 2, most);
    pen.lineTo(x(heads) + step / 2, most);
  }
  pen.stroke();
}

/**
 * A cross for what recorded models have reached, where nothing can be trained.
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {State} state
 * @param {string} ink
 */
function drawRecorded(pen, { x, y }, { recorded }, ink) {
  pen.strokeStyle = ink;
  pen.lineWidth = 1.5;
  for (const [heads, , r2] of recorded) {
    pen.beginPath();
    for (const far of [-4, 4]) {
      pen.moveTo(x(heads) - 4, y(r2) - far);
      pen.lineTo(x(heads) + 4, y(r2) + far);
    }
    pen.stroke();
  }
}

/**
 * Full circles stand on the stairs that are shown, empty ones belong to others; the last is ringed.
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {State} state
 * @param {Colours} colours
 */
function drawRuns(pen, { x, y }, { runs, width, vectors }, { paper }) {
  runs.forEach(([heads, itsWidth, itsVectors, , r2], n) => {
    pen.beginPath();
    pen.arc(x(heads), y(r2), 5.5, 0, 7);
    pen.fillStyle = itsWidth === width && itsVectors === vectors ? headColour(0) : paper;
    pen.strokeStyle = n === runs.length - 1 ? THEME.mark : headColour(0);
    pen.lineWidth = n === runs.length - 1 ? 3 : 1.5;
    pen.fill();
    pen.stroke();
  });
}
