// Builds the film of a training: attention maps and scores, step by step.
import { keyedPicture } from "../kit/canvas.js";
import { checkbox, slider } from "../kit/controls.js";
import { controls, hint, scale } from "../kit/element.js";
import { onKeys, onPointer } from "../kit/keys.js";
import { setTrait } from "../kit/model.js";
import { mounted, scene } from "../kit/mount.js";
import { drawChart } from "./chart.js";
import { drawMaps } from "./maps.js";
import { describe, read } from "./state.js";

/** @typedef {import("../kit/mount.js").View} View */

const NOTE = "Row: query; column: key. A square marks the key that has the answer for a query; " +
  "its colour says which one. Left and right arrow keys on a picture: step.";

export default mounted(buildTrainingFilm);

/** @param {View} view */
function buildTrainingFilm(view) {
  const { model, body } = view;
  const [numSteps, numExamples] = model.get("shape");
  const steps = model.get("steps");
  const keys = "left and right arrow keys choose a step";
  const maps = keyedPicture(view, `Attention maps of ${model.get("heads").length} heads: ${keys}`);
  const chart = keyedPicture(view, `Scores at every training step: ${keys}`);
  const format = (/** @type {number} */ frame) => String(steps[frame]);
  const sequence = () => slider(view, "sequence", "example", { min: 0, max: numExamples - 1 });
  body.append(
    controls(
      ...(numExamples > 1 ? [sequence()] : []),
      slider(view, "training step", "frame", { min: 0, max: numSteps - 1, format }),
      checkbox(view, "mark the answers", "marks"),
    ),
    view.finding,
    maps,
    scale(),
    hint(NOTE),
    chart,
  );
  /** @param {number} frame */
  const stepTo = (frame) => setTrait(model, "frame", Math.max(0, Math.min(frame, numSteps - 1)));
  for (const canvas of [maps, chart]) {
    onKeys(view, canvas, {
      ArrowLeft: () => stepTo(model.get("frame") - 1),
      ArrowRight: () => stepTo(model.get("frame") + 1),
    });
  }
  /** @type {number[]} */
  let places = []; // of the steps in the chart
  onPointer(view, chart, (_, { offsetX }) => nearest(places, offsetX), { press: stepTo });
  const bytes = new Uint8Array(model.get("maps").buffer, model.get("maps").byteOffset);
  scene(view, ["example", "frame", "marks"], (colours) => {
    const state = read(model, bytes);
    drawMaps(maps, state, colours.ink);
    places = drawChart(chart, state, colours);
    view.say(describe(state));
  });
}

/**
 * @param {number[]} places
 * @param {number} x
 */
function nearest(places, x) {
  const far = places.map((place) => Math.abs(place - x));
  return far.indexOf(Math.min(...far));
}
