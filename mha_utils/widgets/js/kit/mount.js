// Puts a view into the page, draws it frame by frame, and shows errors instead of losing them.
import { pageColours } from "./canvas.js";
import { element, uniqueId, write } from "./element.js";
import { speaker } from "./speech.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./canvas.js").Colours} Colours */

/**
 * What the module of a view works with.
 * @typedef {object} View
 * @property {Model} model
 * @property {HTMLElement} body of the view: everything that it shows
 * @property {HTMLElement} finding the present state in one sentence; `say` writes it
 * @property {<Given extends any[]>(action: (...given: Given) => void) => (...given: Given) => void}
 *   guarded an error is shown in the view instead of being lost
 * @property {(names: string[], action: () => void) => void} onChange
 *   call `action` when one of the traits changes, until the view is removed
 * @property {(stop: () => void) => void} onStop
 * @property {(sentence: string, cell?: string) => void} say
 *   what is shown now, and of the cell that keys are on what a screen reader should hear as well
 */

/**
 * What anywidget asks a module for. The view is built inside `el`.
 * @param {(view: View) => void} build
 */
export function mounted(build) {
  /** @param {{ model: Model, el: HTMLElement }} given */
  const render = ({ model, el }) => {
    const root = element("div", { class: "mha-view" });
    const body = element("div", { class: "mha-body" });
    const problem = element("p", { class: "mha-problem", role: "alert", hidden: "" });
    const finding = element("p", { class: "mha-finding", id: uniqueId() });
    root.append(body, problem);
    el.append(root);
    root.addEventListener("keydown", keepKeysInside);
    const view = plainView(model, body, finding, problem);
    keepHeight(view, finding);
    view.onChange(["problem"], () => showProblem(problem, model.get("problem")));
    view.guarded(build)(view);
    return view.stop;
  };
  return { render };
}

/**
 * @param {Model} model
 * @param {HTMLElement} body
 * @param {HTMLElement} finding
 * @param {HTMLElement} problem
 * @returns {View & { stop: () => void }}
 */
function plainView(model, body, finding, problem) {
  /** @type {(() => void)[]} */
  const stops = [];
  /** @type {View["onStop"]} */
  const onStop = (stop) => void stops.push(stop);
  const speak = speaker(/** @type {HTMLElement} */ (body.parentElement), onStop);
  /** @type {View["guarded"]} */
  const guarded = (action) => (...given) => {
    try {
      action(...given);
    } catch (error) {
      showProblem(problem, error);
      console.warn(error);
    }
  };
  return {
    ...{ model, body, finding, guarded, onStop },
    onChange(names, action) {
      const safe = guarded(action);
      for (const name of names) {
        model.on(`change:${name}`, safe);
        onStop(() => model.off(`change:${name}`, safe));
      }
    },
    say(sentence, cell = "") {
      write(finding, sentence);
      speak(cell, sentence);
    },
    stop: () => stops.forEach((stop) => stop()),
  };
}

/**
 * @param {HTMLElement} problem
 * @param {any} error
 */
function showProblem(problem, error) {
  problem.textContent = error ? `This view failed: ${error.message ?? error}` : "";
  problem.hidden = !error;
}

/** JupyterLab would read plain keys as commands; keep them here. @param {KeyboardEvent} event */
function keepKeysInside(event) {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}

/**
 * Draw in the next frame, and again when one of the traits, the theme or the width changes.
 * @param {View} view
 * @param {string[]} traits
 * @param {(colours: Colours) => void} draw
 * @returns {() => void} asks for a new picture
 */
export function scene(view, traits, draw) {
  const ask = framed(view, () => draw(pageColours(view.body)));
  view.onChange(traits, ask);
  watchTheme(view, ask);
  watchWidth(view, view.body, ask);
  ask();
  return ask;
}

/**
 * Run `draw` once in the next animation frame, however often it is asked for.
 * @param {View} view
 * @param {() => void} draw
 */
function framed(view, draw) {
  const safe = view.guarded(draw);
  let waiting = 0;
  view.onStop(() => cancelAnimationFrame(waiting));
  return () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      safe();
    });
  };
}

/**
 * Colours are drawn into the canvas, so a change of theme has to draw again.
 * @param {View} view
 * @param {() => void} draw
 */
function watchTheme(view, draw) {
  const observer = new MutationObserver(draw);
  observer.observe(document.body, { attributes: true });
  const query = matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", draw);
  view.onStop(() => {
    observer.disconnect();
    query.removeEventListener("change", draw);
  });
}

/**
 * What is below a node stays in place when its text needs fewer lines than before.
 * @param {View} view
 * @param {HTMLElement} node
 */
function keepHeight(view, node) {
  let [width, least] = [-1, ""];
  const observer = new ResizeObserver(() => {
    if (width < 0) least = node.style.minHeight;
    if (width !== (width = node.clientWidth)) node.style.minHeight = least;
    node.style.minHeight = `${node.offsetHeight}px`;
  });
  observer.observe(node);
  view.onStop(() => observer.disconnect());
}

/**
 * Draw again when the width of a node changes; also when it first gets one.
 * @param {View} view
 * @param {HTMLElement} node
 * @param {() => void} draw
 */
function watchWidth(view, node, draw) {
  let width = -1;
  const observer = new ResizeObserver(() => {
    if (width !== (width = node.clientWidth)) draw();
  });
  observer.observe(node);
  view.onStop(() => observer.disconnect());
}
