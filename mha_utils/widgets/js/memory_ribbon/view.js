// Builds the memory ribbon: the storage in a row, the tensor in blocks.
import { keyedPicture } from "../kit/canvas.js";
import { radios, slider } from "../kit/controls.js";
import { caption, controls, element, hint, panel } from "../kit/element.js";
import { onKeys, onPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { drawNumbers, flight } from "./drawing.js";
import { CELL, planRibbon, planTensor, WIDTH } from "./plans.js";
import { CHOSEN, describe, read, SIZES } from "./state.js";
import { notes } from "./table.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("./plans.js").Plan} Plan */
/** @typedef {import("./state.js").State} State */

export default mounted(buildMemoryRibbon);

/** @param {View} view */
function buildMemoryRibbon(view) {
  const { model, body } = view;
  const ribbon = keyedPicture(view, "The storage in a row: arrow keys choose a number");
  const tensor = keyedPicture(view, "The tensor in blocks: arrow keys choose a number");
  const words = notes();
  body.append(
    radios(view, "step", "step", model.get("steps")),
    controls(
      slider(view, "B sequences", "batch_size", { min: 1, max: 2 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: 6 }),
      slider(view, "H heads", "num_heads", { min: 1, max: 4 }),
      slider(view, "Dh columns", "head_dim", { min: 1, max: 4 }),
    ),
    view.finding,
    words.legend,
    caption("The storage, place by place:"),
    ribbon,
    words.code,
    element("div", { class: "mha-panels" }, tensor, panel(words.table, words.bytes)),
    hint("Pointer or arrow keys on either picture: choose a number and see where it is in both."),
  );
  /** @type {Plan[]} */
  let plans = [];
  choose(view, ribbon, () => plans[0], (state) => state.tensor.storage);
  choose(view, tensor, () => plans[1], (state) => state.values);
  const travel = flight();
  const draw = scene(view, ["step", ...SIZES, ...CHOSEN], (colours) => {
    const state = read(model);
    const width = Math.min(body.clientWidth || WIDTH, WIDTH);
    plans = [planRibbon(state, width), planTensor(state, width)];
    travel.turnTo(state, plans);
    const { from, share } = travel.now();
    [ribbon, tensor].forEach((canvas, n) =>
      drawNumbers(canvas, plans[n], from?.[n], share, state, colours)
    );
    if (from) draw();
    words.show(state);
    view.say(describe(state));
  });
}

/**
 * The pointer, or arrow keys that walk through numbers in reading order.
 * @param {View} view
 * @param {Canvas} canvas
 * @param {() => Plan} plan
 * @param {(state: State) => number[]} order
 */
function choose(view, canvas, plan, order) {
  /** @param {number} number */
  const take = (number) => {
    const { origins } = read(view.model);
    CHOSEN.forEach((name, d) => setTrait(view.model, name, origins[number][d]));
  };
  /** @type {(canvas: Canvas, event: PointerEvent) => number | null} */
  const find = (_, { offsetX, offsetY }) => {
    /** @type {(at: number, start: number) => boolean} */
    const isIn = (at, start) => at >= start && at < start + CELL;
    const found = plan().places.findIndex(([x, y]) => isIn(offsetX, x) && isIn(offsetY, y));
    return found < 0 ? null : found;
  };
  /** @param {() => number} far */
  const step = (far) => () => {
    const state = read(view.model);
    const numbers = order(state);
    const next = numbers[numbers.indexOf(state.number) + far()];
    if (next !== undefined) take(next);
  };
  onPointer(view, canvas, find, { press: take, hover: take });
  onKeys(view, canvas, {
    ArrowLeft: step(() => -1),
    ArrowRight: step(() => 1),
    ArrowUp: step(() => -plan().columns),
    ArrowDown: step(() => plan().columns),
  });
}
