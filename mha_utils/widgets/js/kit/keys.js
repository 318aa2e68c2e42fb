// Decides what keys and the pointer do on a picture, and what keys do in a group of buttons.
import { cellUnder } from "./grid.js";

/** @typedef {import("./mount.js").View} View */
/** @typedef {import("./canvas.js").Canvas} Canvas */

/**
 * Call what belongs to a key; the key then does nothing else in the page.
 * @param {View} view
 * @param {HTMLElement} node
 * @param {Record<string, () => void>} actions by the name of the key
 */
export function onKeys(view, node, actions) {
  const press = view.guarded((/** @type {KeyboardEvent} */ event) => {
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  node.addEventListener("keydown", press);
}

/**
 * Arrow keys walk through a grid and stop at its edges; `more` are other keys.
 * @param {View} view
 * @param {Canvas} canvas
 * @param {object} grid
 * @param {() => number[]} grid.size numbers of rows and columns
 * @param {() => number[]} grid.get the chosen row and column
 * @param {(row: number, column: number) => void} grid.set
 * @param {Record<string, () => void>} more
 */
export function gridKeys(view, canvas, { size, get, set }, more = {}) {
  /** @type {(down: number, right: number) => () => void} */
  const step = (down, right) => () => {
    const [rows, columns] = size();
    /** @type {(place: number, count: number) => number} */
    const inside = (place, count) => Math.max(Math.min(place, count - 1), 0);
    const [row, column] = get();
    set(inside(inside(row, rows) + down, rows), inside(inside(column, columns) + right, columns));
  };
  const [ArrowUp, ArrowDown] = [step(-1, 0), step(1, 0)];
  const [ArrowLeft, ArrowRight] = [step(0, -1), step(0, 1)];
  onKeys(view, canvas, { ArrowUp, ArrowDown, ArrowLeft, ArrowRight, ...more });
}

/**
 * Arrow keys walk around in a radio group, whose chosen button is its only tab stop.
 * @param {View} view
 * @param {HTMLElement} group
 * @param {() => number} get the place of the chosen button
 * @param {() => HTMLElement[]} buttons
 */
export function ringKeys(view, group, get, buttons) {
  /** @type {(far: number) => () => void} */
  const step = (far) => () => {
    const all = buttons();
    const next = all[(get() + far + all.length) % all.length];
    next.click();
    next.focus();
  };
  const [on, back] = [step(1), step(-1)];
  onKeys(view, group, { ArrowRight: on, ArrowDown: on, ArrowLeft: back, ArrowUp: back });
}

/**
 * Mark the chosen button of a radio group.
 * @param {HTMLElement[]} buttons
 * @param {number} chosen
 */
export function markChosen(buttons, chosen) {
  buttons.forEach((button, place) => {
    button.setAttribute("aria-checked", String(place === chosen));
    button.tabIndex = place === chosen ? 0 : -1;
  });
}

/**
 * The pointer chooses a place of a picture by a press, on its way while held (`drag`), or by
 * moving over it (`hover`). `find` says which place it is on, or null.
 * @template Place
 * @param {View} view
 * @param {Canvas} canvas
 * @param {(canvas: Canvas, event: PointerEvent) => Place | null} find
 * @param {object} acts
 * @param {(place: Place) => void} acts.press
 * @param {(place: Place) => void} [acts.drag]
 * @param {(place: Place) => void} [acts.hover]
 */
export function onPointer(view, canvas, find, { press, hover, drag = hover ?? press }) {
  /** @type {(event: PointerEvent, act?: (place: Place) => void) => void} */
  const look = (event, act) => {
    const place = act ? find(canvas, event) : null;
    if (act && place !== null) act(place);
  };
  canvas.addEventListener(
    "pointerdown",
    view.guarded((event) => {
      canvas.setPointerCapture?.(event.pointerId);
      look(event, press);
    }),
  );
  canvas.addEventListener(
    "pointermove",
    view.guarded((event) => look(event, event.buttons ? drag : hover)),
  );
}

/**
 * The pointer chooses a cell of a grid, by a press or a drag.
 * @param {View} view
 * @param {Canvas} canvas
 * @param {(row: number, column: number) => void} choose
 */
export function gridPointer(view, canvas, choose) {
  onPointer(view, canvas, cellUnder, { press: ([row, column]) => choose(row, column) });
}
