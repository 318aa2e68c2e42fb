// Lets the reader choose a second head, and shows its map and the difference to the first.
import { keyedPicture } from "../kit/canvas.js";
import { choice } from "../kit/controls.js";
import { caption, hint, panel, scale, write } from "../kit/element.js";
import { setTrait } from "../kit/model.js";
import { drawDifference, drawMap } from "./map.js";
import { comparison, headCount, nameOf, otherOf } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */
/** @typedef {import("../kit/canvas.js").Canvas} Canvas */
/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */

/** A list of no head and of all heads. @param {View} view */
export function otherChoice(view) {
  const { model } = view;
  const heads = () =>
    Array.from({ length: headCount(model) }, (_, h) => `head ${nameOf(model, h)}`);
  const node = choice(
    view,
    "other",
    () => ["none", ...heads()],
    () => (otherOf(model) ?? -1) + 1,
    (place) => setTrait(model, "other", place ? place - 1 : null),
    "compare with",
  );
  view.onChange(["num_heads"], node.update);
  return node;
}

/**
 * The map of the other head and the difference, in the place of a panel while there is a head to
 * compare with. `prepare` makes a picture answer to keys and the pointer.
 * @param {View} view
 * @param {string} keys
 * @param {(canvas: Canvas) => void} prepare
 */
export function otherPanels(view, keys, prepare) {
  const map = keyedPicture(view, `Map of the other head's weights: ${keys}`);
  const difference = keyedPicture(view, `Map of the first head less the other: ${keys}`);
  [map, difference].forEach(prepare);
  const [title, less, note] = [caption(), caption(), hint()];
  const panels = [
    panel(map, scale(), title),
    panel(difference, scale("−1", "1", "signed"), less, note),
  ];
  return {
    /**
     * @param {HTMLElement} alone what is shown instead where nothing is compared
     * @param {State} state
     * @param {Colours} colours
     */
    draw(alone, state, colours) {
      const isOn = state.difference !== null;
      if (isOn && alone.isConnected) alone.replaceWith(...panels);
      if (!isOn && panels[0].isConnected) {
        panels[0].before(alone);
        panels.forEach((node) => node.remove());
      }
      if (!state.otherWeights) return;
      drawMap(map, { ...state, weights: state.otherWeights }, colours);
      drawDifference(difference, state, colours);
      write(title, `Head ${state.otherName}`);
      write(less, `Head ${state.name} − head ${state.otherName}`);
      write(note, comparison(state).trim());
    },
  };
}
