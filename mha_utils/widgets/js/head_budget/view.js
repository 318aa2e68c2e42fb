// Builds the map of scores by number of heads and head width, with curves beside it.
import THEME from "../kit/theme.json" with { type: "json" };
import { keyedPicture, label, penOf, picture } from "../kit/canvas.js";
import { weightHex } from "../kit/colour.js";
import { listSlider } from "../kit/controls.js";
import { caption, columns, controls, hint, panel, scale } from "../kit/element.js";
import { drawGrid } from "../kit/grid.js";
import { gridKeys, gridPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { drawChart } from "./chart.js";
import { describe, read } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("./state.js").State} State */

export default mounted(buildHeadBudget);

/** @param {View} view */
function buildHeadBudget(view) {
  const { model, body } = view;
  const map = keyedPicture(
    view,
    "Map of scores by number of heads and head width: arrow keys choose a model",
  );
  const chart = picture("Scores by number of heads");
  const note = `Framed: H × Dh = ${model.get("budget")}, models of equal size. ` +
    "Blank: not tried. Arrow keys or pointer choose.";
  body.append(
    controls(
      listSlider(view, "heads H", "num_heads", () => model.get("heads")),
      listSlider(view, "head width Dh", "head_dim", () => model.get("widths")),
    ),
    view.finding,
    columns(
      panel(caption(`${model.get("measure")}, mean over seeds`), map, scale(), hint(note)),
      panel(caption("The same as curves; bars: all seeds"), chart),
    ),
  );
  chooseModel(view, map);
  scene(view, ["num_heads", "head_dim"], (colours) => {
    const state = read(model);
    drawMap(map, state, colours);
    drawChart(chart, state, colours);
    label(
      chart,
      `Scores by number of heads, for heads of width ${state.width} ` +
        `and for ${state.budget} columns shared by all heads.`,
    );
    view.say(describe(state));
  });
}

/**
 * @param {Canvas} canvas
 * @param {State} state
 * @param {import("../kit/canvas.js").Colours} colours
 */
function drawMap(canvas, { heads, width, allHeads, allWidths, find, budget }, colours) {
  const { ink, paper } = colours;
  const widths = allWidths.toReversed();
  /** @type {import("../kit/grid.js").Grid["cellAt"]} */
  const cellAt = (i, j) => {
    const cell = find(allHeads[j], widths[i]);
    if (!cell) return { fill: paper };
    const frame = allHeads[j] * widths[i] === budget;
    return { fill: weightHex(cell[2]), text: cell[2].toFixed(2), frame };
  };
  const rows = widths.map((w) => `Dh = ${w}`);
  drawGrid(canvas, { rows, columns: allHeads.map((h) => `H = ${h}`), cellAt, ink });
  const { left, top, cell } = canvas.place;
  const [row, column] = [widths.indexOf(width), allHeads.indexOf(heads)];
  const pen = penOf(canvas);
  pen.strokeStyle = THEME.mark;
  pen.lineWidth = 4;
  pen.strokeRect(left + column * cell, top + row * cell, cell, cell);
}

/**
 * @param {View} view
 * @param {Canvas} map
 */
function chooseModel(view, map) {
  const { model } = view;
  /** @type {() => number[][]} */
  const axes = () => [model.get("widths").toReversed(), model.get("heads")];
  /** @type {(row: number, column: number) => void} */
  const set = (row, column) => {
    const [widths, heads] = axes();
    setTrait(model, "head_dim", widths[row]);
    setTrait(model, "num_heads", heads[column]);
  };
  const get = () => {
    const [widths, heads] = axes();
    return [widths.indexOf(model.get("head_dim")), heads.indexOf(model.get("num_heads"))];
  };
  gridKeys(view, map, { size: () => axes().map(({ length }) => length), get, set });
  gridPointer(view, map, set);
}
