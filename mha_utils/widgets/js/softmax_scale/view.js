// Builds the comparison of softmax with and without division by √Dh.
import { label, picture } from "../kit/canvas.js";
import { listSlider, slider } from "../kit/controls.js";
import { caption, columns, controls, element, panel, tableRow, write } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { drawBars, drawSlopes } from "./pictures.js";
import { barsLabel, compute, describe, read, slopesLabel, WIDTHS } from "./state.js";

/** @typedef {import("./state.js").State} State */

export default mounted(buildSoftmaxScale);

/** @param {import("../kit/mount.js").View} view */
function buildSoftmaxScale(view) {
  const { model, body } = view;
  const pictures = [picture("Weights without √Dh"), picture("Weights with √Dh")];
  const captions = pictures.map(() => caption());
  const slopes = picture("Largest slope for every Dh");
  const table = element("table", { class: "mha-sums" });
  const heat = { min: 0.5, max: 24, step: 0.5, format: (/** @type {number} */ t) => t.toFixed(1) };
  let sent = read(model);
  body.append(
    controls(
      listSlider(view, "Dh, width of a head", "head_dim", () => WIDTHS),
      slider(view, "temperature, on the left", "temperature", heat),
      slider(view, "query", "query", () => ({ min: 0, max: sent.length - 1 })),
    ),
    view.finding,
    columns(...pictures.map((canvas, side) => panel(captions[side], canvas))),
    columns(
      panel(table),
      panel(caption(`Largest slope, mean of ${sent.length} queries`), slopes),
    ),
  );
  view.onChange(["q", "k"], () => (sent = read(model)));
  scene(view, ["head_dim", "temperature", "query", "q", "k"], (colours) => {
    const state = compute(model, sent);
    state.sides.forEach((side, n) => {
      write(captions[n], side.name);
      drawBars(pictures[n], side, colours);
      label(pictures[n], barsLabel(side));
    });
    writeTable(table, state);
    drawSlopes(slopes, state, colours);
    label(slopes, slopesLabel(state));
    view.say(describe(state));
  });
}

/**
 * @param {HTMLTableElement} table
 * @param {State} state
 */
function writeTable(table, { sides, numKeys }) {
  const most = Math.log(numKeys).toFixed(2);
  table.replaceChildren(
    tableRow(["softmax of", ...sides.map(({ name }) => name)], true),
    tableRow(["spread of the scores", ...sides.map(({ spread }) => spread.toFixed(2))]),
    tableRow(["largest weight", ...sides.map(({ largest }) => largest.toFixed(4))]),
    tableRow([`entropy, of ${most} nats`, ...sides.map(({ entropy }) => entropy.toFixed(3))]),
    tableRow(["largest slope, of 0.25", ...sides.map(({ slope }) => slope.toFixed(4))]),
  );
}
