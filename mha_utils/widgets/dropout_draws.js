import {
  checkbox, drawGrid, element, floats, framed, hatching, liveSentence, mountView, pageColours,
  picture, rowsOf, slider, watchTheme, watchWidth, weightHex,
} from "./base.js";

export default { render: ({ model, el }) => mountView(model, el, buildDropoutDraws) };

function buildDropoutDraws(view) {
  const { model, body } = view;
  const finding = liveSentence();
  const panels = [
    panel("Before dropout", "Every row sums to 1."),
    panel("After this draw", "Hatched: dropped. Kept: times 1 / (1 − p), framed if above 1."),
    panel("Average so far", "Of all draws up to this one."),
  ];
  body.append(
    element("div", { class: "mha-controls" },
      slider(view, "draw", "draw", { min: 1, max: model.get("shape")[2] }),
      slider(view, "p", "p", { min: 0, max: 0.9, step: 0.05, format: (p) => p.toFixed(2) }),
      checkbox(view, "training", "training")),
    finding,
    element("div", { class: "mha-halves" }, ...panels.map(({ node }) => node)));

  const sent = read(model);
  const draw = framed(view, () => {
    const state = compute(model, sent);
    const colours = pageColours(body);
    const sentence = describe(state);
    [state.before, state.present, state.average].forEach((rows, n) => {
      drawWeights(panels[n].canvas, rows, state, colours);
      panels[n].canvas.setAttribute("aria-label", `${panels[n].title}. ${sentence}`);
    });
    if (finding.textContent !== sentence) finding.textContent = sentence;
  });
  view.onChange(["draw", "p", "training"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function panel(title, hint) {
  const canvas = picture(title);
  const node = element("div", {}, element("p", { class: "mha-caption" }, title), canvas,
    element("p", { class: "mha-hint" }, hint));
  return { title, canvas, node };
}

// ---- the state -------------------------------------------------------------------------

function read(model) {
  const [rows, columns] = model.get("shape");
  const keys = model.get("tokens");
  const queries = rows === columns ? keys : Array.from({ length: rows }, (_, i) => `query ${i}`);
  return { rows, columns, keys, queries, weights: floats(model.get("weights")),
    uniform: floats(model.get("uniform")) };
}

function compute(model, sent) {
  const draw = Math.max(Math.min(model.get("draw"), model.get("shape")[2]), 1);
  const [p, training] = [model.get("p"), model.get("training")];
  const { present, average } = training ? dropped(sent, p, draw)
    : { present: sent.weights, average: sent.weights };
  const grid = (flat) => rowsOf(Float64Array.from(flat), sent.columns);
  return { ...sent, p, draw, training, present: grid(present), average: grid(average),
    before: grid(sent.weights) };
}

/** What draw number `draw` leaves of the weights, and the average of draws 1 to `draw`. */
function dropped({ weights, uniform }, p, draw) {
  const size = weights.length;
  const kept = new Float64Array(size);
  for (let at = 0; at < draw * size; at += 1) if (uniform[at] >= p) kept[at % size] += 1;
  const average = Array.from(weights, (weight, at) => (weight * kept[at]) / (1 - p) / draw);
  const start = (draw - 1) * size;
  const present = Array.from(weights, (weight, at) =>
    (uniform[start + at] >= p ? weight / (1 - p) : 0));
  return { present, average };
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function describe({ p, draw, training, weights, present, average, before, queries }) {
  if (!training) return "Evaluation: nothing is dropped, whatever p is.";
  const count = (numbers) => numbers.filter((number) => number > 0).length;
  const there = count([...weights]);
  const sums = present.map(sum);
  const lost = queries.filter((_, i) => sums[i] === 0).map((word) => `“${word}”`);
  const off = Math.max(...average.flatMap((row, i) => row.map((a, j) => Math.abs(a - before[i][j]))));
  return `p = ${p.toFixed(2)}, draw ${draw}: ${there - count(present.flat())} of ${there} weights `
    + `dropped, the others times ${(1 / (1 - p)).toFixed(2)}; row sums from `
    + `${Math.min(...sums).toFixed(2)} to ${Math.max(...sums).toFixed(2)}.`
    + `${lost.length ? ` Lost everything: ${lost.join(", ")}.` : ""} `
    + `Averaged over ${draw} ${draw === 1 ? "draw" : "draws"}, the weights are off by at most `
    + `${off.toFixed(2)}.`;
}

function drawWeights(canvas, rows, { queries, keys, before }, { ink, paper }) {
  const hatch = hatching(canvas.getContext("2d"), ink, paper);
  const cellAt = (i, j) => {
    const weight = rows[i][j];
    if (weight === 0 && before[i][j] > 0) return { fill: hatch };
    return { fill: weightHex(weight), text: weight.toFixed(2), frame: weight > 1 };
  };
  const ends = rows.map((row) => sum(row).toFixed(2));
  drawGrid(canvas, { rows: queries, columns: keys, cellAt, ends, end: "sum", ink });
}
