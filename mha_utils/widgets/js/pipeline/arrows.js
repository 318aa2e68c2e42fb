// Plans the lines and tips of the arrows between the boxes of tensors.
import { ARROWS, NAMES } from "./tensors.js";

/**
 * Where boxes and arrows are; they move only when the width changes.
 * @param {HTMLElement} node
 * @param {HTMLElement[]} boxes
 */
export function arrowPlan(node, boxes) {
  const [lines, tips] = [new Path2D(), new Path2D()];
  for (const [start, end] of ARROWS) {
    const points = pointsOf(boxes[NAMES.indexOf(start)], boxes[NAMES.indexOf(end)]);
    points.forEach(([x, y], i) => (i ? lines.lineTo(x, y) : lines.moveTo(x, y)));
    addTip(tips, points[points.length - 1], points[points.length - 2]);
  }
  const middles = boxes.map(middle);
  return { lines, tips, middles, width: node.clientWidth, height: node.clientHeight };
}

/**
 * Sideways from box to box between columns, downwards within one.
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 */
function pointsOf(from, to) {
  const [x0, y0] = middle(from);
  const [x1, y1] = middle(to);
  const side = Math.sign(x1 - x0);
  if (!side) return [[x0, from.offsetTop + from.offsetHeight], [x0, to.offsetTop]];
  const start = x0 + (side * from.offsetWidth) / 2;
  const edge = x1 - (side * to.offsetWidth) / 2;
  const bend = edge - side * 15;
  return [[start, y0], [bend, y0], [bend, y1], [edge, y1]];
}

/**
 * @param {Path2D} tips
 * @param {number[]} end
 * @param {number[]} before
 */
function addTip(tips, [x, y], before) {
  const [dx, dy] = [Math.sign(x - before[0]), Math.sign(y - before[1])];
  tips.moveTo(x, y);
  tips.lineTo(x - 7 * dx - 4 * dy, y - 7 * dy - 4 * dx);
  tips.lineTo(x - 7 * dx + 4 * dy, y - 7 * dy + 4 * dx);
}

/** @param {HTMLElement} box */
function middle(box) {
  return [box.offsetLeft + box.offsetWidth / 2, box.offsetTop + box.offsetHeight / 2];
}
