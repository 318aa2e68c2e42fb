// Builds the pictures of x, which every head reads whole, and of q, which is cut into heads.
import { picture, prepare, roomFor } from "../kit/canvas.js";
import { headColour } from "../kit/colour.js";
import { headSlider, listSlider, slider } from "../kit/controls.js";
import { controls } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { describe, read } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("./state.js").State} State */

const [WIDTH, LEFT, GAP, TOP] = [880, 18, 26, 22]; // CSS pixels
const [LINE, WHOLE] = [4, "#a8a8a8"]; // from one head's line to the next; of what is not cut
const DIMS = [6, 8, 12, 16, 24];

export default mounted(buildShapeLetters);

/** @param {View} view */
function buildShapeLetters(view) {
  const canvas = picture("x, read whole by every head, and below it q, cut into heads");
  view.body.append(
    controls(
      slider(view, "B sequences", "batch_size", { min: 1, max: 3 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: 8 }),
      listSlider(view, "D columns", "embed_dim", () => DIMS),
      headSlider(view),
    ),
    canvas,
    view.finding,
  );
  scene(view, ["batch_size", "seq_len", "embed_dim", "num_heads"], ({ ink }) => {
    const state = read(view.model);
    drawSequences(canvas, state, ink);
    view.say(describe(state));
  });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {State} state
 * @param {string} ink
 */
function drawSequences(canvas, state, ink) {
  const { b, t, d, h, dh } = state;
  const width = roomFor(canvas, WIDTH);
  const cell = Math.min(22, (width - LEFT - (b - 1) * GAP) / (b * d));
  const lines = TOP + t * cell + 4; // below x
  const cut = lines + h * LINE + 4; // below the lines: q
  const pen = prepare(canvas, width, cut + t * cell + 20);
  pen.font = "13px sans-serif";
  pen.textAlign = "center";
  pen.fillStyle = ink;
  pen.fillText("x", 7, TOP + (t * cell) / 2 + 4);
  pen.fillText("q", 7, cut + (t * cell) / 2 + 4);
  for (let sequence = 0; sequence < b; sequence += 1) {
    const left = LEFT + sequence * (d * cell + GAP);
    pen.fillStyle = ink;
    pen.fillText(`sequence ${sequence}`, left + (d * cell) / 2, 13);
    for (let head = 0; head < h; head += 1) {
      pen.fillText(String(head), left + (head + 0.5) * dh * cell, cut + t * cell + 14);
    }
    drawCells(pen, state, [left, TOP, cell], () => WHOLE);
    for (let head = 0; head < h; head += 1) { // each reads all columns
      pen.fillStyle = headColour(head);
      pen.fillRect(left, lines + head * LINE, d * cell - 1.5, LINE - 1);
    }
    drawCells(pen, state, [left, cut, cell], (column) => headColour(Math.floor(column / dh)));
  }
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {State} state
 * @param {[number, number, number]} place left, top and width of a cell
 * @param {(column: number) => string} colourOf
 */
function drawCells(pen, { t, d }, [left, top, cell], colourOf) {
  for (let at = 0; at < d * t; at += 1) {
    const [column, token] = [Math.floor(at / t), at % t];
    pen.fillStyle = colourOf(column);
    pen.fillRect(left + column * cell, top + token * cell, cell - 1.5, cell - 1.5);
  }
}
