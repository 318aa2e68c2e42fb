// Makes a button for each head that shows its map in small and chooses it.
import { drawShares, prepare } from "../kit/canvas.js";
import { element } from "../kit/element.js";
import { markChosen, ringKeys } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";

/** @typedef {import("./state.js").State} State */

const [SIZE, PAUSE] = [60, 80]; // CSS pixels, milliseconds

/**
 * One small map for each head; a radio group with one tab stop. The chosen head answers in its
 * frame; the small maps follow when the reader pauses.
 * @param {import("../kit/mount.js").View} view
 */
export function headButtons(view) {
  const { model } = view;
  const node = element("div", { class: "mha-heads", role: "radiogroup", "aria-label": "head" });
  /** @type {ReturnType<typeof headButton>[]} */
  const all = []; // a button is made once and shown when there are so many heads
  /** @type {typeof all} */
  let shown = [];
  let [pause, chosen] = [0, -1];
  ringKeys(view, node, () => Math.min(model.get("head"), shown.length - 1), () => shown);
  view.onStop(() => clearTimeout(pause));

  /** @param {number} count */
  const show = (count) => {
    while (all.length < count) all.push(headButton(model, all.length));
    shown.slice(count).forEach((button) => button.remove());
    node.append(...all.slice(shown.length, count));
    shown = all.slice(0, count);
    markChosen(shown, chosen);
  };
  const showChosen = () => {
    const { offsetTop, offsetHeight } = shown[chosen];
    const last = offsetTop + offsetHeight - node.clientHeight;
    node.scrollTop = Math.min(Math.max(node.scrollTop, last), offsetTop);
  };
  const drawAll = view.guarded((/** @type {State} */ { length, weightsOf }) =>
    shown.forEach(({ map }, h) => {
      const pen = prepare(map, SIZE, SIZE);
      if (length) drawShares(pen, weightsOf(h), length, 0, 0, SIZE);
    })
  );
  return {
    node,
    /** @param {State} state */
    drawLater(state) {
      const isOther = chosen !== state.head;
      chosen = state.head;
      if (shown.length !== state.numHeads) show(state.numHeads);
      else if (isOther) markChosen(shown, chosen);
      if (isOther) showChosen();
      clearTimeout(pause);
      pause = setTimeout(() => drawAll(state), PAUSE);
    },
  };
}

/**
 * @param {import("../kit/model.js").Model} model
 * @param {number} h
 */
function headButton(model, h) {
  const map = element("canvas", { "aria-hidden": "true" });
  prepare(map, SIZE, SIZE);
  const name = `head ${model.get("names")[h] ?? h}`;
  const button = element("button", { role: "radio", type: "button" }, map, name);
  button.addEventListener("click", () => setTrait(model, "head", h));
  return Object.assign(button, { map });
}
