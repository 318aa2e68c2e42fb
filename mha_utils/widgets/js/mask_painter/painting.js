// Offers ready-made masks, and lets the pointer and keys change single cells.
import { button } from "../kit/controls.js";
import { cellUnder } from "../kit/grid.js";
import { gridKeys, onPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/model.js").Model} Model */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */

/** @type {Record<string, (i: number, j: number, length: number) => boolean>} */
const PRESETS = {
  everyone: () => true,
  causal: (i, j) => j <= i,
  padding: (_, j, length) => j < Math.max(length - 2, 1),
  window: (i, j) => j === i || j === i - 1,
};

/** A button for every ready-made mask; pressed is the one that is shown. @param {View} view */
export function presetButtons(view) {
  const { model } = view;
  const [length] = model.get("shape");
  return Object.entries(PRESETS).map(([name, may]) => {
    const mask = Array.from(
      { length: length * length },
      (_, at) => may(Math.floor(at / length), at % length, length),
    );
    const isOn = () => mask.every((may, at) => may === model.get("allowed")[at]);
    return button(view, name, () => setTrait(model, "allowed", [...mask]), ["allowed"], isOn);
  });
}

/**
 * @param {Model} model
 * @param {number} row
 * @param {number} column
 * @param {boolean} may
 */
function paint(model, row, column, may) {
  const at = row * model.get("shape")[0] + column;
  choose(model, row, column);
  if (model.get("allowed")[at] === may) return;
  setTrait(model, "allowed", model.get("allowed").with(at, may));
}

/**
 * @param {Model} model
 * @param {number} row
 * @param {number} column
 */
function choose(model, row, column) {
  setTrait(model, "row", row);
  setTrait(model, "column", column);
}

/**
 * @param {Model} model
 * @param {number} row
 * @param {number} column
 * @returns {boolean}
 */
function isAllowed(model, row, column) {
  return model.get("allowed")[row * model.get("shape")[0] + column];
}

/**
 * The first cell is turned around; a drag gives the same to all cells on its way.
 * @param {View} view
 * @param {Canvas} canvas
 */
export function paintWithPointer(view, canvas) {
  const { model } = view;
  let may = true;
  canvas.style.touchAction = "none";
  onPointer(view, canvas, cellUnder, {
    press([row, column]) {
      may = !isAllowed(model, row, column);
      paint(model, row, column, may);
    },
    drag: ([row, column]) => paint(model, row, column, may),
  });
}

/**
 * Arrow keys walk, the space bar turns the cell around.
 * @param {View} view
 * @param {Canvas} canvas
 */
export function paintWithKeys(view, canvas) {
  const { model } = view;
  const [length] = model.get("shape");
  const get = () => [model.get("row"), model.get("column")];
  const space = () => {
    const [row, column] = get();
    paint(model, row, column, !isAllowed(model, row, column));
  };
  /** @type {(row: number, column: number) => void} */
  const set = (row, column) => choose(model, row, column);
  gridKeys(view, canvas, { size: () => [length, length], get, set }, { " ": space });
}
