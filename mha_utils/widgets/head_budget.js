import {
  cellUnder, drawGrid, element, framed, hatching, listSlider, liveSentence, mountView, pageColours,
  picture, prepare, setTrait, watchTheme, watchWidth, weightHex,
} from "./base.js";

const [TALL, LEFT, TOP, BOTTOM] = [330, 40, 62, 40]; // of the chart, in CSS pixels

export default { render: ({ model, el }) => mountView(model, el, buildHeadBudget) };

function buildHeadBudget(view) {
  const { model, body } = view;
  const map = picture("scores on a grid");
  const chart = picture("scores against number of heads");
  const finding = liveSentence();
  body.append(
    element("div", { class: "mha-controls" },
      listSlider(view, "heads H", "num_heads", () => model.get("heads")),
      listSlider(view, "head width Dh", "head_dim", () => model.get("widths"))),
    finding,
    element("div", { class: "mha-halves" },
      element("div", {}, element("p", { class: "mha-caption" }, `${model.get("measure")}, mean over seeds`),
        map, element("p", { class: "mha-hint" }, `Framed: H × Dh = ${model.get("budget")}, models of equal `
          + "size. Hatched: not tried. Arrow keys or pointer choose.")),
      element("div", {}, element("p", { class: "mha-caption" }, "The same as curves; bars: all seeds"),
        chart)));

  const draw = framed(view, () => {
    const state = read(model);
    const colours = pageColours(body);
    drawMap(map, state, colours);
    drawChart(chart, state, colours);
    const sentence = describe(state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
    map.setAttribute("aria-label", `Map of scores by number of heads and head width. ${sentence}`);
    chart.setAttribute("aria-label", `Scores by number of heads, for heads of width ${state.width} `
      + `and for ${state.budget} columns shared by all heads.`);
  });
  chooseWithKeys(map, model);
  chooseWithPointer(map, model);
  view.onChange(["num_heads", "head_dim"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function read(model) {
  const cells = model.get("cells");
  const find = (h, w) => cells.find((cell) => cell[0] === h && cell[1] === w);
  const [heads, width] = [model.get("num_heads"), model.get("head_dim")];
  return {
    heads, width, find, chosen: find(heads, width), budget: model.get("budget"),
    measure: model.get("measure"), allHeads: model.get("heads"), allWidths: model.get("widths"),
  };
}

function describe({ heads, width, chosen, measure }) {
  const who = `${heads} head${heads === 1 ? "" : "s"} of width ${width} (${heads * width} columns): `;
  if (!chosen) return `${who}not tried.`;
  const [mean, low, high] = chosen.slice(2, 5).map((number) => number.toFixed(3));
  const bound = chosen[6] === null ? "" : ` Theory allows at most ${chosen[6].toFixed(3)}.`;
  return `${who}${measure} ${mean}, from ${low} to ${high} over ${chosen[5]} seeds.${bound}`;
}

function drawMap(canvas, { heads, width, allHeads, allWidths, find, budget }, { ink, paper }) {
  const hatch = hatching(canvas.getContext("2d"), ink, paper);
  const widths = allWidths.toReversed();
  const cellAt = (i, j) => {
    const cell = find(allHeads[j], widths[i]);
    if (!cell) return { fill: hatch, ink };
    return {
      fill: weightHex(cell[2]), text: cell[2].toFixed(2), frame: allHeads[j] * widths[i] === budget,
    };
  };
  const [row, column] = [widths.indexOf(width), allHeads.indexOf(heads)];
  drawGrid(canvas, {
    rows: widths.map((w) => `Dh = ${w}`), columns: allHeads.map((h) => `H = ${h}`), cellAt, ink,
  });
  const { left, top, cell } = canvas.place;
  const context = canvas.getContext("2d");
  context.strokeStyle = THEME.mark;
  context.lineWidth = 4;
  context.strokeRect(left + column * cell, top + row * cell, cell, cell);
}

/** Two series over the number of heads: at the chosen width, and with the budget shared. */
function drawChart(canvas, state, { ink, line }) {
  const { allHeads, find, budget, width, heads } = state;
  const wide = Math.min(canvas.parentElement.clientWidth || 400, 460);
  const context = prepare(canvas, wide, TALL);
  const step = (wide - LEFT - 8) / allHeads.length;
  const x = (i) => LEFT + (i + 0.5) * step;
  const y = (score) => TALL - BOTTOM - score * (TALL - TOP - BOTTOM);
  drawAxes(context, { x, y, wide, ink, line, allHeads, heads });
  const series = [
    { colour: THEME.heads[2], name: `${budget} columns shared`, at: (h) => find(h, budget / h) },
    { colour: THEME.heads[0], name: `every head ${width} wide`, at: (h) => find(h, width) },
  ];
  series.forEach(({ colour, name, at }, n) => {
    const points = allHeads.map((h, i) => ({ i, cell: at(h) })).filter(({ cell }) => cell);
    drawSeries(context, points, { x, y, colour, ink, round: n === 0, step });
    context.fillStyle = colour;
    context.fillRect(LEFT, 10 + 20 * n, 16, 10);
    context.fillStyle = ink;
    context.textAlign = "left";
    context.fillText(name, LEFT + 24, 15 + 20 * n);
  });
}

function drawAxes(context, { x, y, wide, ink, line, allHeads, heads }) {
  context.textBaseline = "middle";
  context.font = "12px sans-serif";
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    context.fillStyle = line;
    context.fillRect(LEFT, y(tick), wide - LEFT, 0.8);
    context.fillStyle = ink;
    context.textAlign = "right";
    context.fillText(String(tick), LEFT - 6, y(tick));
  }
  context.textAlign = "center";
  allHeads.forEach((h, i) => {
    context.font = `${h === heads ? "bold " : ""}12px sans-serif`;
    context.fillText(String(h), x(i), TALL - BOTTOM + 14);
  });
  context.font = "12px sans-serif";
  context.fillText("number of heads H", (LEFT + wide) / 2, TALL - 8);
}

function drawSeries(context, points, { x, y, colour, ink, round, step }) {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  points.forEach(({ i, cell }) => context.lineTo(x(i), y(cell[2])));
  context.stroke();
  for (const { i, cell } of points) {
    context.fillRect(x(i) - 1.5, y(cell[4]), 3, y(cell[3]) - y(cell[4]));
    context.beginPath();
    if (round) context.arc(x(i), y(cell[2]), 4.5, 0, 7);
    else context.rect(x(i) - 4, y(cell[2]) - 4, 8, 8);
    context.fill();
  }
  context.fillStyle = ink;
  for (const { i, cell } of points) {
    if (cell[6] !== null) context.fillRect(x(i) - step / 3, y(cell[6]) - 1, (step * 2) / 3, 2);
  }
}

function chooseWithKeys(canvas, model) {
  const steps = {
    ArrowLeft: ["num_heads", "heads", -1], ArrowRight: ["num_heads", "heads", 1],
    ArrowDown: ["head_dim", "widths", -1], ArrowUp: ["head_dim", "widths", 1],
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [trait, list, step] = steps[event.key];
    const values = model.get(list);
    const next = values.indexOf(model.get(trait)) + step;
    setTrait(model, trait, values[Math.max(0, Math.min(next, values.length - 1))]);
  });
}

function chooseWithPointer(canvas, model) {
  const choose = (event) => {
    const place = cellUnder(canvas, event);
    if (!place) return;
    setTrait(model, "head_dim", model.get("widths").at(-1 - place[0]));
    setTrait(model, "num_heads", model.get("heads")[place[1]]);
  };
  canvas.addEventListener("pointerdown", choose);
  canvas.addEventListener("pointermove", (event) => event.buttons && choose(event));
}
