// Builds the head explorer: attention maps, bars for one query, sums for one cell.
import { keyedPicture } from "../kit/canvas.js";
import { checkbox, listSlider, slider, textField } from "../kit/controls.js";
import { controls, element, hint, panel, scale } from "../kit/element.js";
import { cellUnder } from "../kit/grid.js";
import { gridKeys, onPointer } from "../kit/keys.js";
import { setTrait, traitUpTo } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { drawBars } from "./bars.js";
import { otherChoice, otherPanels } from "./compare.js";
import { headButtons } from "./heads.js";
import { takeNewWords, vocabularyPanel } from "./learning.js";
import { drawMap } from "./map.js";
import { cached, cellOf, compute, describe, splits } from "./state.js";
import { writeSums } from "./sums.js";
import { lengthOf, tokens } from "./tokens.js";
import { outputTable } from "./values.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */

const NOTE = "Pointer or arrow keys on the map: choose a query (row) and a key (column). " +
  "Click or press Enter: lock the row, and let it go again.";
const TRAITS =
  "row column length temperature causal locked head other num_heads sentence learned q k v";

export default mounted(buildHeadExplorer);

/** @param {View} view */
function buildHeadExplorer(view) {
  const { model, body } = view;
  const keys = "arrow keys choose a query and a key, Enter locks the query";
  const map = keyedPicture(view, `Map of attention weights: ${keys}`);
  const bars = keyedPicture(view, `Weights of the chosen query as bars: ${keys}`);
  const sums = element("table", { class: "mha-sums mha-products" });
  const heads = headButtons(view);
  const output = model.get("value_dim") ? outputTable() : null;
  const isSingle = model.get("shape")[0] === 1 && !model.get("resplit");
  const [first, row] = [panel(map, scale(), hint(NOTE)), panel(bars, sums)];
  const work = (/** @type {Canvas} */ canvas) => {
    chooseWithKeys(view, canvas);
    if (canvas !== bars) chooseWithPointer(view, canvas);
  };
  const others = isSingle ? null : otherPanels(view, keys, work);
  body.append(
    explorerControls(view, isSingle ? [] : [otherChoice(view)]),
    ...(model.get("features").length ? [vocabularyPanel(view)] : []),
    ...(isSingle ? [] : [heads.node]),
    view.finding,
    element("div", { class: "mha-panels" }, first, row),
    ...(output ? [output.node] : []),
  );
  [map, bars].forEach(work);
  const cache = cached(model);
  scene(view, TRAITS.split(" "), (colours) => {
    const state = compute(model, cache);
    others?.draw(row, state, colours);
    drawMap(map, state, colours);
    drawBars(bars, state, colours);
    writeSums(sums, state);
    output?.draw(state);
    heads.drawLater(state);
    view.say(describe(state), cellOf(state));
  });
}

/**
 * @param {View} view
 * @param {HTMLElement[]} more
 */
function explorerControls(view, more) {
  const { model } = view;
  const length = slider(view, "tokens", "length", () => ({ min: 1, max: tokens(model).length }));
  view.onChange(["sentence"], () => {
    takeNewWords(model);
    setTrait(model, "length", tokens(model).length);
    length.update();
  });
  view.onChange(["length"], () => {
    for (const name of ["row", "column"]) {
      setTrait(model, name, traitUpTo(model, name, lengthOf(model) - 1));
    }
  });
  const heat = { min: 0.1, max: 4, step: 0.1, format: (/** @type {number} */ t) => t.toFixed(1) };
  return controls(
    ...(model.get("editable") ? [textField(view, "sentence", "sentence")] : []),
    ...(model.get("resplit") ? [listSlider(view, "heads", "num_heads", () => splits(model))] : []),
    length,
    slider(view, "temperature", "temperature", heat),
    checkbox(view, "causal", "causal"),
    checkbox(view, "lock the row", "locked"),
    ...more,
  );
}

/** Take a cell; a locked row stays. @param {View} view */
function chooserOf({ model }) {
  return (/** @type {number} */ row, /** @type {number} */ column) => {
    if (!model.get("locked")) setTrait(model, "row", row);
    setTrait(model, "column", column);
  };
}

/**
 * @param {View} view
 * @param {Canvas} canvas
 */
function chooseWithKeys(view, canvas) {
  const { model } = view;
  const size = () => [lengthOf(model), lengthOf(model)];
  const get = () => [model.get("row"), model.get("column")];
  const Enter = () => setTrait(model, "locked", !model.get("locked"));
  gridKeys(view, canvas, { size, get, set: chooserOf(view) }, { Enter });
}

/**
 * Moving over the map chooses; a click locks the row that it hits, or lets the locked one go.
 * @param {View} view
 * @param {Canvas} map
 */
function chooseWithPointer(view, map) {
  const { model } = view;
  const choose = chooserOf(view);
  onPointer(view, map, cellUnder, {
    press([row, column]) {
      const isLocked = model.get("locked");
      setTrait(model, "locked", false);
      choose(row, column);
      setTrait(model, "locked", !isLocked);
    },
    hover: ([row, column]) => choose(row, column),
  });
}
