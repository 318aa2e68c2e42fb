// Builds the pipeline: all tensors of multi-head attention, and the numbers of one of them.
import { keyedPicture } from "../kit/canvas.js";
import { checkbox, headSlider, listSlider, slider } from "../kit/controls.js";
import { controls, eitherScale, element, hint, write } from "../kit/element.js";
import { gridKeys, gridPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene, watchWidth } from "../kit/mount.js";
import { tensorChain } from "./chain.js";
import { readBytes } from "./forward.js";
import { drawMap } from "./map.js";
import { computed, read } from "./state.js";
import { DIMS, LENGTH, shapeOf, SHARES, sizesOf } from "./tensors.js";
import { cellOf, describe } from "./words.js";

/** @typedef {import("../kit/mount.js").View} View */

const ROOM = 1372; // of the large picture in CSS pixels
const SIZES = ["batch_size", "seq_len", "embed_dim", "num_heads"];
const CHOSEN = ["tensor", "sequence", "head", "row", "column"];

export default mounted(buildPipeline);

/** @param {View} view */
function buildPipeline(view) {
  const { model, body } = view;
  const chain = tensorChain(view);
  const map = keyedPicture(view, "The numbers of the tensor: arrow keys choose one");
  const [reading, colourScale] = [hint(), eitherScale()];
  const sequence = placeSlider(view, "sequence", "batch_size");
  const head = placeSlider(view, "head", "num_heads");
  body.append(
    sizeControls(view),
    element("div", { class: "mha-scroll" }, chain.node),
    view.finding,
    controls(sequence, head),
    map,
    colourScale.node,
    reading,
  );
  chooseNumber(view, map);
  watchWidth(view, body, chain.forgetPlaces);
  const source = computed(readBytes(model));
  scene(view, [...SIZES, "causal", "dropout", ...CHOSEN], (colours) => {
    const state = read(model, source);
    chain.show(state, colours.ink);
    drawMap(map, state, Math.min(body.clientWidth || ROOM, ROOM), colours);
    colourScale.show(SHARES.includes(state.name));
    head.input.disabled = !state.hasHeads;
    const cell = cellOf(state);
    write(reading, `${cell} Arrow keys or pointer choose a number.`);
    view.say(describe(state), cell);
  });
}

/** @param {View} view */
function sizeControls(view) {
  const format = (/** @type {number} */ p) => p.toFixed(2);
  return controls(
    slider(view, "B sequences", "batch_size", { min: 1, max: 3 }),
    slider(view, "T tokens", "seq_len", { min: 1, max: LENGTH }),
    listSlider(view, "D columns", "embed_dim", () => DIMS),
    headSlider(view),
    slider(view, "p dropout", "dropout", { min: 0, max: 0.9, step: 0.05, format }),
    checkbox(view, "causal", "causal"),
  );
}

/**
 * A slider for one of so many as another trait says.
 * @param {View} view
 * @param {string} trait
 * @param {string} count
 */
function placeSlider(view, trait, count) {
  const range = () => ({ min: 0, max: view.model.get(count) - 1 });
  const node = slider(view, trait, trait, range);
  view.onChange([count], node.update);
  return node;
}

/**
 * @param {View} view
 * @param {import("../kit/canvas.js").Canvas} map
 */
function chooseNumber(view, map) {
  const { model } = view;
  /** @type {(row: number, column: number) => void} */
  const set = (row, column) => {
    setTrait(model, "row", row);
    setTrait(model, "column", column);
  };
  const get = () => [model.get("row"), model.get("column")];
  const size = () => shapeOf(model.get("tensor"), sizesOf(model)).slice(-2);
  gridKeys(view, map, { size, get, set });
  gridPointer(view, map, set, { byHover: true });
}
