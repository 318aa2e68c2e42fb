import {
  checkbox, drawShares, element, framed, liveSentence, mountView, pageColours, picture, prepare,
  setTrait, asLabel, slider, watchTheme, watchWidth,
} from "./base.js";

const [CHART, LEFT, BOTTOM] = [170, 40, 34]; // in CSS pixels

export default { render: ({ model, el }) => mountView(model, el, buildTrainingFilm) };

function buildTrainingFilm(view) {
  const { model, body } = view;
  const [numSteps, numExamples] = model.get("shape");
  const steps = model.get("steps");
  const maps = picture("attention maps");
  const chart = picture("scores while learning");
  const finding = liveSentence();
  body.append(
    element("div", { class: "mha-controls" },
      slider(view, "sequence", "example", { min: 0, max: numExamples - 1 }),
      slider(view, "training step", "frame", {
        min: 0, max: numSteps - 1, format: (frame) => String(steps[frame]),
      }),
      checkbox(view, "mark the answers", "marks")),
    finding, maps,
    element("p", { class: "mha-hint" }, "Row: query; column: key. A square marks the key that has the "
      + "answer for a query; its colour says which one. Left and right arrow keys on a picture: step."),
    chart);
  const bytes = new Uint8Array(model.get("maps").buffer, model.get("maps").byteOffset);

  const draw = framed(view, () => {
    const state = read(model, bytes);
    const colours = pageColours(body);
    drawMaps(maps, state, colours);
    drawChart(chart, state, colours);
    const sentence = describe(state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
    maps.setAttribute("aria-label", `Attention maps of ${state.heads.length} heads. ${sentence}`);
    chart.setAttribute("aria-label", `Scores at every step; step ${state.step} is marked.`);
  });
  for (const canvas of [maps, chart]) stepWithKeys(canvas, model);
  stepWithPointer(chart, model);
  view.onChange(["example", "frame", "marks"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function read(model, bytes) {
  const [, numExamples, numHeads, length] = model.get("shape");
  const [frame, example] = [model.get("frame"), model.get("example")];
  const size = length * length;
  const weights = Array.from({ length: numHeads }, (_, h) => {
    const start = ((frame * numExamples + example) * numHeads + h) * size;
    return Float64Array.from(bytes.subarray(start, start + size), (byte) => byte / 255);
  });
  const sources = model.get("sources").map(([name, places]) => ({ name, places: places[example] }));
  return {
    frame, length, weights, sources, heads: model.get("heads"), marks: model.get("marks"),
    step: model.get("steps")[frame], steps: model.get("steps"), curves: model.get("curves"),
    words: model.get("labels")[example].map(asLabel),
  };
}

function describe({ step, curves, frame, heads, weights, sources, length }) {
  const scores = curves.map(([name, values]) => `${name} ${tenths(values[frame])}`).join(", ");
  const looks = heads.map((head, h) => {
    const masses = sources.map(({ places }) => mean(
      places.map((j, i) => (j < 0 ? null : weights[h][i * length + j])).filter((w) => w !== null)));
    const best = masses.indexOf(Math.max(...masses));
    return `${head} gives ${tenths(masses[best])} to “${sources[best].name}”`;
  });
  return `Step ${step}. Right: ${scores}. Here ${looks.join(", ")}.`;
}

function tenths(share) {  // what training gives is not the same to two decimals on every machine
  return (Math.round(10 * share) / 10).toFixed(1);
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function drawMaps(canvas, state, { ink }) {
  const { heads, weights, length, words, sources, marks } = state;
  const wide = canvas.closest(".mha-body").clientWidth || 880;
  const columns = Math.min(heads.length, wide < 520 ? 1 : 3);
  const context = prepare(canvas, 1, 1);
  context.font = "11px sans-serif";
  const margin = Math.ceil(Math.max(...words.map((word) => context.measureText(word).width))) + 6;
  const size = Math.min(320, Math.floor(wide / columns) - margin - 14);
  const tall = size + margin + 30;
  const lines = Math.ceil(heads.length / columns);
  const pen = prepare(canvas, columns * (size + margin + 14), lines * tall);
  heads.forEach((head, h) => {
    const x = (h % columns) * (size + margin + 14) + margin;
    const y = Math.floor(h / columns) * tall + 22;
    drawShares(pen, weights[h], length, x, y, size);
    writeLabels(pen, { head, words, x, y, size, length, ink });
    if (marks) drawMarks(pen, { sources, x, y, cell: size / length });
  });
}

function writeLabels(pen, { head, words, x, y, size, length, ink }) {
  const cell = size / length;
  pen.fillStyle = ink;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.font = "bold 13px sans-serif";
  pen.fillText(head, x, y - 11);
  pen.font = `${Math.min(11, Math.ceil(cell))}px sans-serif`;
  words.forEach((word, i) => {
    pen.textAlign = "right";
    pen.fillText(word, x - 4, y + (i + 0.5) * cell);
    pen.save();
    pen.translate(x + (i + 0.5) * cell, y + size + 4);
    pen.rotate(-Math.PI / 2);
    pen.fillText(word, 0, 0);
    pen.restore();
  });
}

function markColour(r) {
  return THEME.heads[[3, 5, 4, 2][r % 4]]; // apart from each other, and seen on dark and light cells
}

function drawMarks(pen, { sources, x, y, cell }) {
  sources.forEach(({ places }, r) => places.forEach((j, i) => {
    if (j < 0) return;
    const inset = Math.min(2.5, cell / 5);
    pen.strokeStyle = markColour(r);
    pen.lineWidth = Math.max(1.2, Math.min(2, cell / 6));
    pen.strokeRect(x + j * cell + inset, y + i * cell + inset, cell - 2 * inset, cell - 2 * inset);
  }));
}

function drawChart(canvas, { steps, curves, frame, sources }, { ink, line }) {
  const wide = Math.min(canvas.closest(".mha-body").clientWidth || 600, 640);
  const pen = prepare(canvas, wide, CHART);
  const x = (n) => LEFT + (steps[n] / steps.at(-1)) * (wide - LEFT - 120);
  const y = (score) => CHART - BOTTOM - score * (CHART - BOTTOM - 12);
  canvas.place = { x };
  pen.font = "12px sans-serif";
  pen.textBaseline = "middle";
  for (const tick of [0, 0.5, 1]) {
    pen.fillStyle = line;
    pen.fillRect(LEFT, y(tick), wide - LEFT - 120, 0.8);
    pen.fillStyle = ink;
    pen.textAlign = "right";
    pen.fillText(String(tick), LEFT - 6, y(tick));
  }
  pen.textAlign = "center";
  pen.fillText("training step", (LEFT + wide - 120) / 2, CHART - 8);
  curves.forEach(([name, values], c) => {
    const r = sources.findIndex((source) => source.name === name);
    pen.strokeStyle = r < 0 ? ink : markColour(r);
    pen.lineWidth = 2;
    pen.setLineDash(c % 2 ? [6, 3] : []);
    pen.beginPath();
    values.forEach((score, n) => pen.lineTo(x(n), y(score)));
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = pen.strokeStyle;
    pen.fillRect(wide - 112, 14 + 20 * c, 12, 10);
    pen.fillStyle = ink;
    pen.textAlign = "left";
    pen.fillText(name, wide - 94, 19 + 20 * c);
  });
  pen.fillStyle = ink;
  pen.fillRect(x(frame) - 1.5, 6, 3, CHART - BOTTOM - 6);
}

function stepTo(model, frame) {
  setTrait(model, "frame", Math.max(0, Math.min(frame, model.get("shape")[0] - 1)));
}

function stepWithKeys(canvas, model) {
  const moves = { ArrowLeft: -1, ArrowRight: 1 };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in moves)) return;
    event.preventDefault();
    stepTo(model, model.get("frame") + moves[event.key]);
  });
}

function stepWithPointer(chart, model) {
  const choose = (event) => {
    const far = model.get("steps").map((_, n) => Math.abs(chart.place.x(n) - event.offsetX));
    stepTo(model, far.indexOf(Math.min(...far)));
  };
  chart.addEventListener("pointerdown", choose);
  chart.addEventListener("pointermove", (event) => event.buttons && choose(event));
}
