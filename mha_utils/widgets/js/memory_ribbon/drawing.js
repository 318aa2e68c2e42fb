// Draws the numbers in both pictures, and lets them travel when the step changes.
import { prepare } from "../kit/canvas.js";
import { headColour, inkOn } from "../kit/colour.js";
import { drawFrame } from "../kit/grid.js";
import { CELL } from "./plans.js";

/** @typedef {import("../kit/canvas.js").Colours} Colours */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./plans.js").Plan} Plan */

const FLIGHT = 450; // milliseconds that a number takes to its new place

/** After another step the numbers travel from where they stood; other changes are at once. */
export function flight() {
  /** @type {{ step: string, sizes: string, plans: Plan[] } | undefined} */
  let last;
  /** @type {Plan[] | undefined} */
  let from;
  let start = 0;
  /**
   * @param {State} state
   * @param {Plan[]} plans
   */
  const turnTo = ({ step, sizes }, plans) => {
    const isSame = last?.sizes === sizes.join();
    if (last && isSame && last.step !== step) {
      const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
      [from, start] = [last.plans, isStill ? -Infinity : performance.now()];
    } else if (!isSame) {
      from = undefined;
    }
    last = { step, sizes: sizes.join(), plans };
  };
  /** How far they have travelled, and from where. */
  const now = () => {
    const share = from ? Math.min((performance.now() - start) / FLIGHT, 1) : 1;
    return { from: share < 1 ? from : undefined, share: share * share * (3 - 2 * share) };
  };
  return { turnTo, now };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Plan} plan
 * @param {Plan | undefined} from
 * @param {number} share of the way from there
 * @param {State} state
 * @param {Colours} colours
 */
export function drawNumbers(canvas, plan, from, share, { origins, number }, colours) {
  const pen = prepare(canvas, plan.width, plan.height);
  pen.textBaseline = "middle";
  pen.font = "12px sans-serif";
  pen.fillStyle = colours.ink;
  for (const { text, x, y, align = "left" } of plan.labels) {
    pen.textAlign = align;
    pen.fillText(text, x, y);
  }
  pen.textAlign = "center";
  /** @param {number} n */
  const at = (n) =>
    plan.places[n].map((end, d) => from ? from.places[n][d] * (1 - share) + end * share : end);
  origins.forEach(([, token, head], n) => {
    const [x, y] = at(n);
    pen.fillStyle = headColour(head);
    pen.fillRect(x, y, CELL - 2, CELL - 2);
    pen.fillStyle = inkOn(headColour(head));
    pen.fillText(String(token), x + CELL / 2 - 1, y + CELL / 2);
  });
  const [x, y] = at(number);
  drawFrame(pen, colours, [x + 0.5, y + 0.5, CELL - 3, CELL - 3]);
}
