// Makes the list of names to accuse a suspect with, and marks the names ruled out.
import { button } from "../kit/controls.js";
import { element } from "../kit/element.js";
import { setTrait } from "../kit/model.js";
import { fits, read } from "./state.js";

/** @typedef {import("./state.js").State} State */

/**
 * The names of the level, a group for each room, and the button that says one of them.
 * @param {import("../kit/mount.js").View} view
 */
export function accuseControls(view) {
  const { model } = view;
  const list = element("select", { "aria-label": "name of the suspect" });
  const press = button(view, "accuse", () => {
    if (!list.value) return;
    const pair = [read(model).piece, Number(list.value)];
    setTrait(model, "accused", [...model.get("accused"), pair]);
  });
  /** @type {number[] | null} */
  let filled = null;
  return {
    node: element("div", { class: "mha-control mha-accusation" }, list, press),
    /** @param {State} state */
    update(state) {
      if (filled !== state.order) list.replaceChildren(...roomGroups(state));
      filled = state.order;
      for (const option of list.querySelectorAll("option")) {
        if (option.value) option.textContent = nameWithMark(state, Number(option.value));
      }
      press.disabled = state.isFound;
    },
  };
}

/** @param {State} state */
function roomGroups({ order, pieces }) {
  const places = order.toSorted((a, b) => a - b);
  const rooms = [...new Set(places.map((n) => pieces[n][1]))];
  const groups = rooms.map((room) => {
    const inside = places.filter((n) => pieces[n][1] === room);
    const options = inside.map((n) => element("option", { value: n }));
    return element("optgroup", { label: room }, ...options);
  });
  return [element("option", { value: "" }, "choose a name"), ...groups];
}

/**
 * @param {State} state
 * @param {number} n
 */
function nameWithMark(state, n) {
  const { pieces, accused, allAccused } = state;
  const isFound = allAccused.some(([piece, other]) => piece === n && other === n);
  if (isFound) return `✓ ${pieces[n][0]} (found)`;
  if (accused.includes(n)) return `✗ ${pieces[n][0]} (not this one)`;
  return fits(state, n) ? pieces[n][0] : `✗ ${pieces[n][0]} (would answer otherwise)`;
}
