// Builds the dials of rotary positions: move two tokens and see every pair of features turn.
import { keyedPicture, label, picture } from "../kit/canvas.js";
import { slider } from "../kit/controls.js";
import { caption, columns, controls, hint, panel } from "../kit/element.js";
import { cellUnder } from "../kit/grid.js";
import { gridKeys, onPointer } from "../kit/keys.js";
import { setTrait, traitUpTo } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { drawCurve, drawDials, drawLine } from "./pictures.js";
import { compute, curveLabel, describe, dialsLabel, MOST, read } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */

export default mounted(buildPositionDials);

/** @param {View} view */
function buildPositionDials(view) {
  const { model, body } = view;
  const line = keyedPicture(
    view,
    "Two tokens on a line: left and right arrow keys move both, up and down change the distance",
  );
  const [dials, curve] = [picture("Dials"), picture("Score against distance")];
  const range = { min: 0, max: MOST };
  let pairs = read(model);
  body.append(
    controls(
      slider(view, "key at place, the query goes with it", "key_place", range),
      slider(view, "distance", "distance", range),
    ),
    view.finding,
    line,
    hint("Drag the key k: the query goes with it. Drag the query q: the distance changes."),
    caption("A dial for each pair of features; how far it turns, and the product of its hands"),
    panel(dials),
    columns(panel(caption("Score against distance"), curve)),
  );
  moveByKeys(view, line);
  moveByPointer(view, line);
  view.onChange(["q", "k", "base"], () => (pairs = read(model)));
  scene(view, ["key_place", "distance", "q", "k", "base"], (colours) => {
    const state = compute(model, pairs);
    drawLine(line, state, colours);
    drawDials(dials, state, colours);
    label(dials, dialsLabel(state));
    drawCurve(curve, state, colours);
    label(curve, curveLabel(state));
    view.say(describe(state));
  });
}

/**
 * @param {View} view
 * @param {Canvas} line
 */
function moveByKeys(view, line) {
  const { model } = view;
  gridKeys(view, line, {
    size: () => [MOST + 1, MOST + 1],
    get: () => ["distance", "key_place"].map((name) => traitUpTo(model, name, MOST)),
    set: (distance, keyPlace) => {
      setTrait(model, "distance", distance);
      setTrait(model, "key_place", keyPlace);
    },
  });
}

/**
 * The token that is nearer to the pointer when it is pressed is the one that is dragged.
 * @param {View} view
 * @param {Canvas} line
 */
function moveByPointer(view, line) {
  const { model } = view;
  let isQuery = false;
  /** @param {number[]} cell */
  const drag = ([, place]) => {
    const keyPlace = model.get("key_place");
    const [trait, to] = isQuery ? ["distance", place - keyPlace] : ["key_place", place];
    setTrait(model, trait, Math.max(Math.min(to, MOST), 0));
  };
  /** @param {number[]} cell */
  const press = (cell) => {
    isQuery = 2 * (cell[1] - model.get("key_place")) >= model.get("distance");
    drag(cell);
  };
  onPointer(view, line, cellUnder, { press, drag });
}
