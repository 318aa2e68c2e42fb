// Builds the view of what a layer costs, with curves and a table for the chosen sizes.
import { label, picture } from "../kit/canvas.js";
import { checkbox, headSlider, listSlider } from "../kit/controls.js";
import { caption, controls, element, panel, tableRow } from "../kit/element.js";
import { mounted, scene } from "../kit/mount.js";
import { compute, describe, LENGTHS, NAMES, PANELS, short } from "./costs.js";
import { drawCurves } from "./curves.js";

/** @typedef {import("./costs.js").State} State */

const BATCHES = [1, 2, 4, 8, 16, 32, 64];
const DIMS = [256, 512, 768, 1024, 2048, 4096];
const MOST_HEADS = 64;

export default mounted(buildLayerCost);

/** @param {import("../kit/mount.js").View} view */
function buildLayerCost(view) {
  const { model, body } = view;
  const pictures = PANELS.map(({ title }) => picture(`${title} against T, three lines`));
  const table = element("table", { class: "mha-sums" });
  body.append(
    controls(
      listSlider(view, "T tokens", "seq_len", () => LENGTHS),
      listSlider(view, "B sequences", "batch_size", () => BATCHES),
      listSlider(view, "D columns", "embed_dim", () => DIMS),
      headSlider(view, MOST_HEADS),
      checkbox(view, "causal", "is_causal"),
      checkbox(view, "16-bit numbers", "is_half"),
    ),
    view.finding,
    element(
      "div",
      { class: "mha-thirds" },
      ...PANELS.map(({ title }, n) => panel(caption(title), pictures[n])),
    ),
    element("div", { class: "mha-scroll" }, table),
  );
  const traits = ["batch_size", "seq_len", "embed_dim", "num_heads", "is_causal", "is_half"];
  scene(view, traits, (colours) => {
    const state = compute(model);
    PANELS.forEach((each, n) => {
      drawCurves(pictures[n], each, state, colours);
      label(pictures[n], `${each.title} against T, three lines. ${atThisLength(each, state)}.`);
    });
    fillTable(table, state);
    view.say(describe(state));
  });
}

/**
 * @param {import("./costs.js").Panel} panel
 * @param {State} state
 */
function atThisLength({ key, unit }, { t, now }) {
  const parts = NAMES.map((name) => `${name} ${amount(now[name][key], unit)}`);
  return `At T = ${t}: ${parts.join(", ")}`;
}

/**
 * @param {number} value
 * @param {string} unit
 */
function amount(value, unit) {
  return value ? short(value, unit) : "none";
}

/**
 * @param {HTMLTableElement} table
 * @param {State} state
 */
function fillTable(table, { now }) {
  table.replaceChildren(
    tableRow(["at this T", ...PANELS.map(({ title }) => title)], true),
    ...NAMES.map((name) =>
      tableRow([name, ...PANELS.map(({ key, unit }) => amount(now[name][key], unit))])
    ),
  );
}
