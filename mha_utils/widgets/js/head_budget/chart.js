// Draws scores by number of heads: a line for one head width, another for one budget.
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Cell} Cell */
/** @typedef {{ wide: number, step: number, x: (i: number) => number, y: (score: number) => number }} Axes */
/** @typedef {{ colour: string, name: string, round: boolean, at: (heads: number) => Cell | undefined }} Series */

const [TALL, LEFT, TOP, BOTTOM] = [330, 40, 62, 40]; // of the chart, in CSS pixels

/**
 * Two series over the number of heads: at the chosen width, and with the budget shared.
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawChart(canvas, state, colours) {
  const { allHeads, find, budget, width } = state;
  const wide = roomFor(canvas, 460);
  const pen = prepare(canvas, wide, TALL);
  const step = (wide - LEFT - 8) / allHeads.length;
  /** @type {Axes} */
  const axes = {
    ...{ wide, step },
    x: (i) => LEFT + (i + 0.5) * step,
    y: (score) => TALL - BOTTOM - score * (TALL - TOP - BOTTOM),
  };
  const shared = { colour: headColour(2), name: `${budget} columns shared`, round: true };
  const alike = { colour: headColour(0), name: `every head ${width} wide`, round: false };
  drawAxes(pen, axes, state, colours);
  [
    { ...shared, at: (/** @type {number} */ h) => find(h, budget / h) },
    { ...alike, at: (/** @type {number} */ h) => find(h, width) },
  ].forEach((series, n) => {
    drawSeries(pen, axes, series, allHeads, colours.ink);
    pen.fillStyle = series.colour;
    pen.fillRect(LEFT, 10 + 20 * n, 16, 10);
    pen.fillStyle = colours.ink;
    pen.textAlign = "left";
    pen.fillText(series.name, LEFT + 24, 15 + 20 * n);
  });
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {State} state
 * @param {Colours} colours
 */
function drawAxes(pen, { x, y, wide }, { allHeads, heads }, { ink, line }) {
  pen.textBaseline = "middle";
  pen.font = "12px sans-serif";
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    pen.fillStyle = line;
    pen.fillRect(LEFT, y(tick), wide - LEFT, 0.8);
    pen.fillStyle = ink;
    pen.textAlign = "right";
    pen.fillText(String(tick), LEFT - 6, y(tick));
  }
  pen.textAlign = "center";
  allHeads.forEach((h, i) => {
    pen.font = `${h === heads ? "bold " : ""}12px sans-serif`;
    pen.fillText(String(h), x(i), TALL - BOTTOM + 14);
  });
  pen.font = "12px sans-serif";
  pen.fillText("number of heads H", (LEFT + wide) / 2, TALL - 8);
}

/**
 * A line through the means, a bar from the lowest to the highest seed, a dash for theory's most.
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {Series} series
 * @param {number[]} allHeads
 * @param {string} ink
 */
function drawSeries(pen, { x, y, step }, { colour, round, at }, allHeads, ink) {
  const points = allHeads.flatMap((h, i) => {
    const cell = at(h);
    return cell ? [{ at: x(i), cell }] : [];
  });
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const { at, cell } of points) pen.lineTo(at, y(cell[2]));
  pen.stroke();
  for (const { at, cell } of points) {
    pen.fillRect(at - 1.5, y(cell[4]), 3, y(cell[3]) - y(cell[4]));
    pen.beginPath();
    if (round) pen.arc(at, y(cell[2]), 4.5, 0, 7);
    else pen.rect(at - 4, y(cell[2]) - 4, 8, 8);
    pen.fill();
  }
  pen.fillStyle = ink;
  for (const { at, cell } of points) {
    if (cell[6] !== null) pen.fillRect(at - step / 3, y(cell[6]) - 1, (step * 2) / 3, 2);
  }
}
