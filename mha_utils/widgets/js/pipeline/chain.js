// Makes the chain of tensors: a box with a small picture for each, and arrows between.
import { penOf, prepare } from "../kit/canvas.js";
import { element, write } from "../kit/element.js";
import { markChosen, ringKeys } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { arrowPlan } from "./arrows.js";
import { levelsOf, scaleOf } from "./scale.js";
import { LENGTH, NAMES, shapeOf, TENSORS, WIDTH } from "./tensors.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {ReturnType<typeof arrowPlan>} Plan */

/**
 * One box for each tensor: a radio group with one tab stop, in the order of the data.
 * @param {import("../kit/mount.js").View} view
 */
export function tensorChain(view) {
  const { model } = view;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const boxes = NAMES.map((name) => tensorBox(model, name));
  const nodes = boxes.map(({ node }) => node);
  const group = { class: "mha-chain", role: "radiogroup", "aria-label": "tensor" };
  const node = element("div", group, ...nodes, canvas);
  ringKeys(view, node, () => NAMES.indexOf(model.get("tensor")), () => nodes);
  /** @type {Plan | undefined} */
  let plan;
  return {
    node,
    forgetPlaces: () => (plan = undefined),
    /**
     * @param {State} state
     * @param {string} ink
     */
    show(state, ink) {
      boxes.forEach(({ shape }, n) =>
        write(shape, `(${shapeOf(NAMES[n], state.sizes).join(", ")})`)
      );
      markChosen(nodes, NAMES.indexOf(state.name));
      plan ??= arrowPlan(node, nodes);
      drawChain(canvas, plan, state, ink);
    },
  };
}

/**
 * @param {import("../kit/model.js").Model} model
 * @param {string} name
 */
function tensorBox(model, name) {
  const [, formula, column, row] = TENSORS[name];
  const shape = element("span");
  const node = element(
    "button",
    { type: "button", role: "radio", style: `grid-area: ${row + 1} / ${column + 1}` },
    ...[element("b", {}, name), " ", element("small", {}, formula), " ", shape],
  );
  node.addEventListener("click", () => setTrait(model, "tensor", name));
  return { node, shape };
}

/**
 * Arrows between the boxes, and in each box its tensor, one small square for each number.
 * @param {HTMLCanvasElement} canvas
 * @param {Plan} plan
 * @param {State} state
 * @param {string} ink
 */
function drawChain(canvas, { lines, tips, middles, width, height }, state, ink) {
  const pen = prepare(canvas, width, height);
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = 1.2;
  pen.stroke(lines);
  pen.fill(tips);
  pen.imageSmoothingEnabled = false;
  const pixels = paintAtlas(state);
  NAMES.forEach((name, i) => {
    const [rows, columns] = shapeOf(name, state.sizes).slice(-2);
    const cell = Math.min(92 / columns, 36 / rows, 12);
    const [wide, tall] = [columns * cell, rows * cell];
    const [x, y] = [middles[i][0] - wide / 2, middles[i][1] + 6 - tall / 2];
    pen.drawImage(pixels, 0, i * LENGTH, columns, rows, x, y, wide, tall);
  });
}

/** @type {OffscreenCanvas | undefined} */
let atlas;

/** All tensors as pixels, one below the other, `LENGTH` rows for each. @param {State} state */
function paintAtlas(state) {
  atlas ??= new OffscreenCanvas(WIDTH, LENGTH * NAMES.length);
  const image = new ImageData(atlas.width, atlas.height);
  const out = new Uint32Array(image.data.buffer);
  NAMES.forEach((name, i) => {
    const [columns] = shapeOf(name, state.sizes).slice(-1);
    const { pixels } = scaleOf(name);
    levelsOf(name, state.matrixOf(name)).forEach((level, n) => {
      out[(i * LENGTH + Math.floor(n / columns)) * WIDTH + (n % columns)] = pixels[level];
    });
  });
  penOf(atlas).putImageData(image, 0, 0);
  return atlas;
}
