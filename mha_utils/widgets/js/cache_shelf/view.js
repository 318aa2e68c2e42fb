// Builds the shelf of keys and values that fills while a text is written, and one for all heads.
import { divisors } from "../kit/arithmetic.js";
import { hatching, keyedPicture, label, penOf, picture } from "../kit/canvas.js";
import { weightHex } from "../kit/colour.js";
import { listSlider, slider } from "../kit/controls.js";
import { caption, controls, panel, write } from "../kit/element.js";
import { drawGrid } from "../kit/grid.js";
import { gridKeys, gridPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { count } from "../kit/words.js";
import { compute, describe, shelfLabel, SINKS } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

const TRAITS = ["tokens", "num_heads", "num_kv_heads", "head_dim", "length", "window", "sinks"];
const [OLD, NEW] = [0.45, 1]; // shares whose colours kept tokens and the newest one have

export default mounted(buildCacheShelf);

/** @param {View} view */
function buildCacheShelf(view) {
  const { model, body } = view;
  const own = keyedPicture(
    view,
    "What is kept of each token: left and right arrow keys choose the newest token",
  );
  const [others, ownTitle, otherTitle] = [
    picture("One KV head for each head"),
    caption(),
    caption(),
  ];
  const most = model.get("tokens").length;
  const range = { min: 1, max: most };
  body.append(
    controls(
      slider(view, "tokens so far", "length", range),
      listSlider(view, "KV heads", "num_kv_heads", () => divisors(model.get("num_heads"))),
      slider(view, "window", "window", range),
      slider(view, "sinks", "sinks", { min: 0, max: SINKS }),
    ),
    view.finding,
    panel(ownTitle, own),
    panel(otherTitle, others),
  );
  chooseTokens(view, own, most);
  scene(view, TRAITS, (colours) => {
    const state = compute(model);
    drawShelf(own, state, state.kvHeads, colours);
    drawShelf(others, state, state.heads, colours);
    write(ownTitle, `This layer: ${count(state.kvHeads, "KV head")}`);
    write(otherTitle, `The same text with a KV head for each of ${count(state.heads, "head")}`);
    label(others, shelfLabel(state, state.heads));
    view.say(describe(state));
  });
}

/**
 * Keys and pointer choose which token is the newest.
 * @param {View} view
 * @param {Canvas} canvas
 * @param {number} most
 */
function chooseTokens(view, canvas, most) {
  /** @type {(row: number, column: number) => void} */
  const choose = (_, column) => setTrait(view.model, "length", column + 1);
  const get = () => [0, Math.min(view.model.get("length"), most) - 1];
  gridKeys(view, canvas, { size: () => [1, most], get, set: choose });
  gridPointer(view, canvas, choose);
}

/**
 * A row for each KV head, a column for each token.
 * @param {Canvas} canvas
 * @param {State} state
 * @param {number} rows
 * @param {Colours} colours
 */
function drawShelf(canvas, { words, fates }, rows, colours) {
  const fills = {
    new: weightHex(NEW),
    kept: weightHex(OLD),
    gone: hatching(penOf(canvas), colours),
    future: colours.paper,
  };
  drawGrid(canvas, {
    rows: Array.from({ length: rows }, (_, n) => `KV ${n}`),
    columns: words,
    cellAt: (_, column) => ({ fill: fills[fates[column]], frame: fates[column] === "new" }),
    ink: colours.ink,
  });
}
