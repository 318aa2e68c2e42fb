// Draws one cost against the number of tokens, on logarithmic axes.
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { LENGTHS, NAMES, short } from "./costs.js";

/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {{ low: number, high: number, right: number, x: (length: number) => number, y: (value: number) => number }} Axes */

const [LEFT, TOP, FLOOR] = [56, 12, 190]; // CSS pixels
const FIRST = LENGTHS[0];
const LAST = LENGTHS[LENGTHS.length - 1];
const TICKS = [64, 512, 4096, 16384];

/** Colour of a head, dash: never colour alone. @type {Record<string, [number, number[]]>} */
const LINES = {
  "loop over heads": [3, [2, 4]],
  explicit: [0, []],
  fused: [2, [9, 4]],
};

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import("./costs.js").Panel} panel
 * @param {import("./costs.js").State} state
 * @param {Colours} colours
 */
export function drawCurves(canvas, { key, unit }, { t, curves, now }, colours) {
  const width = roomFor(canvas, 420);
  const pen = prepare(canvas, width, FLOOR + 40);
  const axes = axesFor(width, curves.flatMap((at) => NAMES.map((name) => at[name][key])));
  const { x, y } = axes;
  drawAxes(pen, axes, unit, colours);
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1;
  pen.strokeRect(x(t) - 0.5, TOP, 1, FLOOR - TOP);
  for (const name of NAMES) {
    const points = curves.map((at, i) => [x(LENGTHS[i]), at[name][key]]);
    strokeLine(pen, name, points.filter(([, value]) => value).map(([at, v]) => [at, y(v)]));
    if (!now[name][key]) continue;
    pen.fillStyle = pen.strokeStyle;
    pen.beginPath();
    pen.arc(x(t), y(now[name][key]), 4.5, 0, 7);
    pen.fill();
  }
  drawLegend(pen, NAMES.filter((name) => now[name][key]), colours.ink);
}

/**
 * Both axes are logarithmic; that of the values goes from a power of ten to another.
 * @param {number} width
 * @param {number[]} all
 * @returns {Axes}
 */
function axesFor(width, all) {
  const [values, right] = [all.filter((value) => value > 0), width - 10];
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.ceil(Math.log10(Math.max(...values)));
  const span = right - LEFT - 12;
  return {
    ...{ low, high, right },
    x: (length) => LEFT + 6 + (span * Math.log2(length / FIRST)) / Math.log2(LAST / FIRST),
    y: (value) => FLOOR - ((FLOOR - TOP) * (Math.log10(value) - low)) / (high - low),
  };
}

/**
 * @param {Pen} pen
 * @param {Axes} axes
 * @param {string} unit
 * @param {Colours} colours
 */
function drawAxes(pen, { low, high, right, x, y }, unit, { ink, line }) {
  pen.font = "11px sans-serif";
  pen.fillStyle = ink;
  pen.strokeStyle = line;
  pen.lineWidth = 0.5;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let power = low; power <= high; power += 1) {
    pen.strokeRect(LEFT, y(10 ** power), right - LEFT, 0);
    const text = short(10 ** power, unit).replace(".00", "");
    if (power % 3 === 0) pen.fillText(text, LEFT - 4, y(10 ** power));
  }
  pen.fillText("T", LEFT - 4, FLOOR + 10);
  pen.textAlign = "center";
  for (const length of TICKS) {
    pen.fillText(length < 1000 ? String(length) : `${length / 1024}k`, x(length), FLOOR + 10);
  }
}

/**
 * A line in the colour and with the dash of its name.
 * @param {Pen} pen
 * @param {string} name
 * @param {number[][]} points
 */
function strokeLine(pen, name, points) {
  const [head, dash] = LINES[name];
  pen.strokeStyle = headColour(head);
  pen.lineWidth = 2.5;
  pen.setLineDash(dash);
  pen.beginPath();
  points.forEach(([x, y], n) => (n ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
  pen.setLineDash([]);
}

/**
 * @param {Pen} pen
 * @param {string[]} names
 * @param {string} ink
 */
function drawLegend(pen, names, ink) {
  pen.textAlign = "left";
  pen.font = "11px sans-serif";
  const y = FLOOR + 32;
  let x = LEFT - 48;
  for (const name of names) {
    strokeLine(pen, name, [[x, y], [x + 20, y]]);
    const text = name.replace(" over heads", "");
    pen.fillStyle = ink;
    pen.fillText(text, x + 24, y);
    x += 34 + pen.measureText(text).width;
  }
}
