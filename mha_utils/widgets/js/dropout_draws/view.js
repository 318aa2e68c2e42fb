// Builds the view of weights before dropout, after one draw, and averaged over draws.
import { sum } from "../kit/arithmetic.js";
import { label, picture } from "../kit/canvas.js";
import { weightHex } from "../kit/colour.js";
import { checkbox, slider } from "../kit/controls.js";
import { caption, columns, controls, hint, panel, scale } from "../kit/element.js";
import { drawGrid } from "../kit/grid.js";
import { mounted, scene } from "../kit/mount.js";
import { compute, describe, read } from "./state.js";

/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const PANELS = [
  ["Before dropout", "Every row sums to 1."],
  ["After this draw", "×: dropped. Kept: times 1 / (1 − p), framed if above 1."],
  ["Average so far", "Of all draws up to this one."],
];

export default mounted(buildDropoutDraws);

/** @param {import("../kit/mount.js").View} view */
function buildDropoutDraws(view) {
  const { model, body } = view;
  const pictures = PANELS.map(([title]) => picture(title));
  body.append(
    controls(
      slider(view, "draw", "draw", { min: 1, max: model.get("shape")[2] }),
      slider(view, "p", "p", { min: 0, max: 0.9, step: 0.05, format: (p) => p.toFixed(2) }),
      checkbox(view, "training", "training"),
    ),
    view.finding,
    columns(
      ...PANELS.map(([title, note], n) => panel(caption(title), pictures[n], scale(), hint(note))),
    ),
  );
  const sent = read(model);
  scene(view, ["draw", "p", "training"], (colours) => {
    const state = compute(model, sent);
    [state.before, state.present, state.average].forEach((rows, n) => {
      drawWeights(pictures[n], rows, state, colours);
      const sums = rows.map((row, i) => `“${state.queries[i]}” ${sum(row).toFixed(2)}`);
      label(pictures[n], `${PANELS[n][0]}. Sums of the rows: ${sums.join(", ")}.`);
    });
    view.say(describe(state));
  });
}

/**
 * @param {import("../kit/canvas.js").Canvas} canvas
 * @param {number[][]} rows
 * @param {State} state
 * @param {Colours} colours
 */
function drawWeights(canvas, rows, { queries, keys, before }, { ink }) {
  /** @type {import("../kit/grid.js").Grid["cellAt"]} */
  const cellAt = (i, j) => {
    const weight = rows[i][j];
    const isDropped = weight === 0 && before[i][j] > 0;
    const text = isDropped ? "×" : weight.toFixed(2);
    return { fill: weightHex(weight), text, frame: weight > 1 };
  };
  const ends = rows.map((row) => sum(row).toFixed(2));
  drawGrid(canvas, { rows: queries, columns: keys, cellAt, ends, end: "sum", ink });
}
