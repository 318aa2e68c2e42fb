// Draws two tokens on a line of places, a dial for each pair of features, and score by distance.
import { prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { fixed } from "../kit/words.js";
import { MOST } from "./state.js";

/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("../kit/canvas.js").Pen} Pen */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Dial} Dial */

const [QUERY, KEY] = [headColour(0), headColour(1)]; // as in all chapters
const [LINE_TALL, LINE_AT, EDGE] = [74, 30, 18];
const [DIAL, DIAL_TALL] = [112, 150];
const [CURVE_WIDE, CURVE_TALL] = [440, 190];

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawLine(canvas, { queryPlace, keyPlace, distance }, { ink, line }) {
  const width = roomFor(canvas, 900);
  const step = (width - 2 * EDGE) / (2 * MOST);
  const pen = prepare(canvas, width, LINE_TALL);
  canvas.place = {
    left: EDGE - step / 2,
    top: 0,
    cell: step,
    tall: LINE_TALL,
    rows: 1,
    columns: 63,
  };
  /** @param {number} place */
  const x = (place) => EDGE + place * step;
  pen.font = "12px sans-serif";
  pen.textAlign = "center";
  pen.fillStyle = line;
  pen.fillRect(x(0), LINE_AT, x(2 * MOST) - x(0), 1);
  for (let place = 0; place <= 2 * MOST; place += 1) {
    pen.fillRect(x(place), LINE_AT, 1, place % 10 ? 5 : 9);
  }
  pen.fillStyle = ink;
  for (let place = 0; place <= 2 * MOST; place += 10) {
    pen.fillText(String(place), x(place), LINE_AT + 22);
  }
  pen.fillRect(x(keyPlace), LINE_AT - 2, x(queryPlace) - x(keyPlace), 3);
  drawMark(pen, 1, x(keyPlace), LINE_AT);
  drawMark(pen, 0, x(queryPlace), LINE_AT);
  pen.fillStyle = ink;
  pen.fillText(distance ? "k" : "k q", x(keyPlace), LINE_AT - 14);
  if (distance) pen.fillText("q", x(queryPlace), LINE_AT - 14);
  pen.fillText(`${distance} apart`, (x(keyPlace) + x(queryPlace)) / 2, LINE_AT + 40);
}

/**
 * A square for the query, a circle for the key.
 * @param {Pen} pen
 * @param {number} side
 * @param {number} x
 * @param {number} y
 */
function drawMark(pen, side, x, y) {
  pen.fillStyle = side ? KEY : QUERY;
  pen.beginPath();
  if (side) pen.arc(x, y, 7, 0, 2 * Math.PI);
  else pen.rect(x - 5, y - 5, 10, 10);
  pen.fill();
}

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawDials(canvas, { dials }, { ink, line }) {
  const width = roomFor(canvas, DIAL * dials.length);
  const across = Math.max(Math.min(Math.floor(width / DIAL), dials.length), 1);
  const pen = prepare(canvas, width, DIAL_TALL * Math.ceil(dials.length / across));
  const longest = Math.max(...dials.flatMap(({ hands }) => hands.map(({ long }) => long)), 1e-9);
  pen.font = "12px sans-serif";
  pen.textAlign = "center";
  dials.forEach((dial, n) => {
    const centre = [(n % across + 0.5) * DIAL, Math.floor(n / across) * DIAL_TALL + 52];
    drawDial(pen, dial, centre, 46 / longest, line);
    pen.fillStyle = ink;
    pen.fillText(`${dial.rate.toFixed(3)} a place`, centre[0], centre[1] + 64);
    pen.fillText(fixed(dial.product), centre[0], centre[1] + 82);
  });
}

/**
 * @param {Pen} pen
 * @param {Dial} dial
 * @param {number[]} centre
 * @param {number} scale
 * @param {string} line
 */
function drawDial(pen, { hands }, [x, y], scale, line) {
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.arc(x, y, 48, 0, 2 * Math.PI);
  pen.stroke();
  hands.forEach(({ long, angle }, side) => {
    const tip = [x + scale * long * Math.cos(angle), y - scale * long * Math.sin(angle)];
    pen.strokeStyle = side ? KEY : QUERY;
    pen.lineWidth = side ? 2.5 : 4;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(tip[0], tip[1]);
    pen.stroke();
    drawMark(pen, side, tip[0], tip[1]);
  });
}

/**
 * The score for every distance, a mark at the present one.
 * @param {Canvas} canvas
 * @param {State} state
 * @param {Colours} colours
 */
export function drawCurve(canvas, { curve, distance }, { ink, line }) {
  const width = roomFor(canvas, CURVE_WIDE);
  const pen = prepare(canvas, width, CURVE_TALL);
  const [left, right, top, floor] = [44, width - 12, 14, CURVE_TALL - 40];
  const [low, high] = [Math.min(0, ...curve), Math.max(0, ...curve)];
  const unit = (floor - top) / Math.max(high - low, 1e-9);
  /** @param {number} far */
  const x = (far) => left + (far * (right - left)) / MOST;
  /** @param {number} score */
  const y = (score) => floor - (score - low) * unit;
  pen.font = "12px sans-serif";
  pen.textBaseline = "middle";
  for (const score of new Set([low, 0, high])) {
    pen.fillStyle = line;
    pen.fillRect(left, y(score), right - left, 0.8);
    pen.fillStyle = ink;
    pen.textAlign = "right";
    pen.fillText(score ? fixed(score) : "0", left - 6, y(score));
  }
  pen.textAlign = "center";
  for (const far of [0, 10, 20, 30]) pen.fillText(String(far), x(far), floor + 14);
  pen.fillText("distance", (left + right) / 2, CURVE_TALL - 8);
  pen.strokeStyle = ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  curve.forEach((score, far) => pen.lineTo(x(far), y(score)));
  pen.stroke();
  drawMark(pen, 0, x(distance), y(curve[distance]));
}
