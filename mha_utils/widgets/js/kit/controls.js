// Makes sliders, checkboxes, radio buttons, lists and text fields that follow a trait.
import { divisors } from "./arithmetic.js";
import { element, uniqueId } from "./element.js";
import { setTrait } from "./model.js";

/** @typedef {import("./mount.js").View} View */
/** @typedef {{ min: number, max: number, step?: number, format?: (value: number) => string }} Range */

/**
 * @param {string} text
 * @param {HTMLElement} control
 * @param {...Node} extra
 */
function labelled(text, control, ...extra) {
  control.id = uniqueId();
  const label = element("label", { for: control.id }, text);
  return element("div", { class: "mha-control" }, label, control, ...extra);
}

/**
 * Keep a control as its trait is, from now on.
 * @param {View} view
 * @param {string[]} traits
 * @param {() => void} update
 */
function follow(view, traits, update) {
  view.onChange(traits, update);
  update();
}

/**
 * A slider bound to a trait; `options` may be a function when the range changes.
 * @param {View} view
 * @param {string} text
 * @param {string} trait
 * @param {Range | (() => Range)} options
 */
export function slider(view, text, trait, options) {
  const range = () => (typeof options === "function" ? options() : options);
  const input = element("input", { type: "range" });
  const output = element("output", { "aria-hidden": "true" });
  const update = () => {
    const { min, max, step = 1, format = String } = range();
    const value = view.model.get(trait);
    Object.assign(input, { min, max, step, value });
    output.textContent = format(value);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => setTrait(view.model, trait, Number(input.value)));
  follow(view, [trait], update);
  return Object.assign(labelled(text, input, output), { update, input, output });
}

/**
 * A slider whose positions are the values of a list; `values` is a function.
 * @param {View} view
 * @param {string} text
 * @param {string} trait
 * @param {() => any[]} values
 */
export function listSlider(view, text, trait, values) {
  const model = {
    ...view.model,
    get: () => Math.max(values().indexOf(view.model.get(trait)), 0),
    set: (/** @type {string} */ _, /** @type {number} */ place) =>
      setTrait(view.model, trait, values()[place]),
    save_changes() {},
  };
  return slider({ ...view, model }, text, trait, () => ({
    min: 0,
    max: values().length - 1,
    format: (place) => String(values()[place]),
  }));
}

/**
 * A slider for the number of heads, which always divides the trait `embed_dim`: where that
 * changes, the next smaller number that does is taken.
 * @param {View} view
 * @param {number} most
 */
export function headSlider(view, most = Infinity) {
  const { model } = view;
  const counts = () => divisors(model.get("embed_dim")).filter((n) => n <= most);
  const node = listSlider(view, "H heads", "num_heads", counts);
  view.onChange(["embed_dim"], () => {
    setTrait(model, "num_heads", counts().filter((n) => n <= model.get("num_heads")).at(-1));
    node.update();
  });
  return node;
}

/**
 * @param {View} view
 * @param {string} text
 * @param {string} trait
 */
export function checkbox(view, text, trait) {
  const input = element("input", { type: "checkbox" });
  input.addEventListener("change", () => setTrait(view.model, trait, input.checked));
  follow(view, [trait], () => (input.checked = view.model.get(trait)));
  return labelled(text, input);
}

/**
 * One choice out of a few names: native radio buttons, so arrow keys move the choice.
 * @param {View} view
 * @param {string} text
 * @param {string} trait
 * @param {string[]} names
 */
export function radios(view, text, trait, names) {
  const group = element("fieldset", { class: "mha-radios" }, element("legend", {}, text));
  const shared = uniqueId();
  const inputs = names.map((name) => {
    const input = element("input", { type: "radio", name: shared, value: name });
    input.addEventListener("change", () => setTrait(view.model, trait, name));
    group.append(element("label", {}, input, name));
    return input;
  });
  follow(view, [trait], () => {
    for (const input of inputs) input.checked = input.value === view.model.get(trait);
  });
  return group;
}

/**
 * A push button; `isOn`, when given, says whether it shows as pressed for these traits.
 * @param {View} view
 * @param {string} text
 * @param {() => void} action
 * @param {string[]} traits
 */
export function button(view, text, action, traits = [], isOn = () => false) {
  const node = element("button", { type: "button", class: "mha-button" }, text);
  node.addEventListener("click", view.guarded(action));
  const update = () => node.setAttribute("aria-pressed", String(isOn()));
  if (traits.length) follow(view, traits, update);
  return node;
}

/**
 * A list to choose one of; `get` and `set` are about the place in `names`. Where names may become
 * more or fewer, they are a function.
 * @param {View} view
 * @param {string} trait
 * @param {string[] | (() => string[])} names
 * @param {() => number} get
 * @param {(place: number) => void} set
 * @param {string} text
 */
export function choice(
  view,
  trait,
  names,
  get = () => view.model.get(trait),
  set = (place) => setTrait(view.model, trait, place),
  text = trait,
) {
  const list = element("select");
  list.addEventListener("change", () => set(Number(list.value)));
  const update = () => {
    const now = typeof names === "function" ? names() : names;
    if (list.length !== now.length) {
      list.replaceChildren(...now.map((name, value) => element("option", { value }, name)));
    }
    list.value = String(get());
  };
  follow(view, [trait], update);
  return Object.assign(labelled(text, list), { update });
}

/**
 * @param {View} view
 * @param {string} text
 * @param {string} trait
 */
export function textField(view, text, trait) {
  const input = element("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  input.addEventListener("input", () => setTrait(view.model, trait, input.value));
  follow(view, [trait], () => {
    if (document.activeElement !== input) input.value = view.model.get(trait);
  });
  return labelled(text, input);
}
