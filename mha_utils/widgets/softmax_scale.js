import {
  css, dot, element, entropy, floats, framed, listSlider, liveSentence, mountView, pageColours,
  picture, prepare, rowsOf, slider, softmax, watchTheme, watchWidth, weightColour,
} from "./base.js";

const WIDTHS = Array.from({ length: 10 }, (_, n) => 2 ** n); // 1 to 512
const [TALL, SLOPES_TALL] = [210, 150]; // CSS pixels

export default { render: ({ model, el }) => mountView(model, el, buildSoftmaxScale) };

function buildSoftmaxScale(view) {
  const { model, body } = view;
  const pictures = [picture("weights without √Dh"), picture("weights with √Dh")];
  const captions = pictures.map(() => element("p", { class: "mha-caption" }));
  const slopes = picture("largest slope for every Dh");
  const finding = liveSentence();
  const table = element("table", { class: "mha-sums" });
  let sent = read(model);
  body.append(
    element("div", { class: "mha-controls" },
      listSlider(view, "Dh, width of a head", "head_dim", () => WIDTHS),
      slider(view, "temperature, on the left", "temperature", {
        min: 0.5, max: 24, step: 0.5, format: (t) => t.toFixed(1),
      }),
      slider(view, "query", "query", () => ({ min: 0, max: sent.length - 1 }))),
    finding,
    element("div", { class: "mha-halves" }, ...pictures.map((canvas, side) =>
      element("div", {}, captions[side], canvas))),
    element("div", { class: "mha-halves" }, element("div", {}, table),
      element("div", {}, element("p", { class: "mha-caption" },
        `Largest slope, mean of ${sent.length} queries`), slopes)));

  const draw = framed(view, () => {
    const state = compute(model, sent);
    const colours = pageColours(body);
    state.sides.forEach((side, n) => {
      captions[n].textContent = side.name;
      drawBars(pictures[n], side, colours);
      pictures[n].setAttribute("aria-label", barsLabel(side));
    });
    writeTable(table, state);
    drawSlopes(slopes, state, colours);
    slopes.setAttribute("aria-label", slopesLabel(state));
    finding.textContent = describe(state);
  });
  view.onChange(["q", "k"], () => (sent = read(model)));
  view.onChange(["head_dim", "temperature", "query", "q", "k"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

// ---- the state -------------------------------------------------------------------------

/** Products of queries and keys that are cut to their first Dh numbers: [query][Dh][key]. */
function read(model) {
  const [queries, keys] = ["q", "k"].map((name) => rowsOf(floats(model.get(name)), WIDTHS.at(-1)));
  return queries.map((q) => WIDTHS.map((headDim) => {
    const cut = q.slice(0, headDim);
    return keys.map((key) => dot(cut, key));
  }));
}

function compute(model, products) {
  const [headDim, temperature] = [model.get("head_dim"), model.get("temperature")];
  const query = Math.max(Math.min(model.get("query"), products.length - 1), 0);
  const now = Math.max(WIDTHS.indexOf(headDim), 0);
  const divisors = [() => temperature, Math.sqrt];
  const names = [temperature === 1 ? "q · k" : `q · k / ${temperature.toFixed(1)}`,
    `q · k / √${headDim}`];
  const side = (divisor, n) => {
    const at = (q, w) => measure(products[q][w].map((product) => product / divisor(WIDTHS[w])));
    const slopes = WIDTHS.map((_, w) => average(products.map((__, q) => at(q, w).slope)));
    return { ...at(query, now), slopes, name: names[n] };
  };
  return {
    headDim, temperature, query, now, numKeys: products[0][0].length, sides: divisors.map(side),
  };
}

function average(numbers) {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}

function measure(scores) {
  const mean = average(scores);
  const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
  const weights = softmax(scores);
  return {
    scores, weights,
    spread: Math.sqrt(squares / (scores.length - 1)),
    largest: Math.max(...weights),
    entropy: entropy(weights),
    // w_j (1 - w_j): every other slope w_j w_l is at most that, since w_l <= 1 - w_j
    slope: Math.max(...weights.map((weight) => weight * (1 - weight))),
  };
}

function describe({ headDim, temperature, query, numKeys, sides: [left, right] }) {
  const most = Math.log(numKeys).toFixed(2);
  const how = temperature === 1 ? "not divided" : `divided by temperature ${temperature.toFixed(1)}`;
  const what = (side) => `scores spread by ${side.spread.toFixed(1)}, `
    + `the largest weight is ${side.largest.toFixed(3)}, `
    + `entropy ${side.entropy.toFixed(2)} of ${most} nats, `
    + `largest slope ${side.slope.toFixed(3)}.`;
  return `Query ${query}, Dh = ${headDim}, ${how}: ${what(left)} Divided by √${headDim}: ${what(right)}`;
}

// ---- the pictures ----------------------------------------------------------------------

/** A bar for the weight of each key, the weight above and the score below. */
function drawBars(canvas, { scores, weights }, { ink, line }) {
  const width = Math.min(canvas.parentElement.clientWidth || 420, 440);
  const [step, floor] = [width / weights.length, TALL - 46];
  const context = prepare(canvas, width, TALL);
  context.textAlign = "center";
  context.font = `${step < 38 ? 10.5 : 12}px sans-serif`;
  weights.forEach((weight, j) => {
    const [x, tall] = [(j + 0.5) * step, weight * (floor - 18)];
    context.fillStyle = css(weightColour(weight));
    context.fillRect(x - step * 0.4, floor - tall, step * 0.8, tall);
    context.strokeStyle = line;
    context.lineWidth = 0.8;
    context.strokeRect(x - step * 0.4, floor - tall, step * 0.8, tall);
    context.fillStyle = ink;
    const digits = step < 34 ? 1 : 2;
    context.fillText(weight.toFixed(digits), x, floor - tall - 5);
    context.fillText(signed(scores[j], digits - 1), x, floor + 16);
  });
  context.strokeStyle = ink;
  context.strokeRect(0, floor, width, 0);
  context.font = "12px sans-serif";
  context.textAlign = "left";
  context.fillText("scores, one for each key", 2, floor + 36);
}

function signed(score, digits) {
  return score.toFixed(digits).replace("-", "−");
}

function barsLabel({ name, scores, weights }) {
  const keys = weights.map((w, j) => `key ${j}: ${w.toFixed(3)} from ${scores[j].toFixed(2)}`);
  return `Softmax of ${name}, weights from scores. ${keys.join("; ")}.`;
}

function slopesLabel({ sides: [{ slopes: left }, { slopes: right }], now }) {
  return `Largest slope of the softmax for Dh from 1 to 512, mean of all queries. At Dh = ${WIDTHS[now]}: left `
    + `${left[now].toFixed(3)}, divided by √Dh ${right[now].toFixed(3)}; `
    + `at Dh = 512: left ${left.at(-1).toFixed(3)}, divided ${right.at(-1).toFixed(3)}.`;
}

/** Two lines over all Dh, each with a mark of its own at the present one. */
function drawSlopes(canvas, { now, sides }, { ink, line }) {
  const width = Math.min(canvas.parentElement.clientWidth || 420, 440);
  const context = prepare(canvas, width, SLOPES_TALL);
  const [left, right, top, floor] = [36, width - 14, 22, SLOPES_TALL - 24];
  const x = (n) => left + n * (right - left) / (WIDTHS.length - 1);
  const y = (slope) => floor - slope * 4 * (floor - top);
  context.font = "11.5px sans-serif";
  context.fillStyle = ink;
  context.strokeStyle = line;
  context.textAlign = "center";
  WIDTHS.forEach((headDim, n) => context.fillText(headDim, x(n), floor + 16));
  context.textAlign = "right";
  for (const slope of [0, 0.25]) {
    context.fillText(slope.toString(), left - 6, y(slope) + 4);
    context.strokeRect(left, y(slope), right - left, 0);
  }
  context.setLineDash([3, 3]);
  context.strokeRect(x(now), top, 0, floor - top);
  context.setLineDash([]);
  sides.forEach(({ slopes }, side) => drawLine(context, slopes, side, x, y));
  context.textAlign = "left";
  sides.forEach(({ name }, side) => {
    const at = left + 8 + side * 130;
    drawMark(context, side, at, 9);
    context.fillStyle = ink;
    context.fillText(side ? "q · k / √Dh" : name, at + 9, 13);
  });
}

const COLOURS = [THEME.warning, THEME.heads[0]];

function drawLine(context, all, side, x, y) {
  context.strokeStyle = COLOURS[side];
  context.lineWidth = 2;
  context.beginPath();
  all.forEach((slope, n) => context.lineTo(x(n), y(slope)));
  context.stroke();
  all.forEach((slope, n) => drawMark(context, side, x(n), y(slope)));
}

/** A square for the left side, a circle for the right one. */
function drawMark(context, side, x, y) {
  context.fillStyle = COLOURS[side];
  context.beginPath();
  if (side) context.arc(x, y, 4, 0, 2 * Math.PI);
  else context.rect(x - 3.5, y - 3.5, 7, 7);
  context.fill();
}

function writeTable(table, { sides, numKeys }) {
  const row = (tag, ...cells) => element("tr", {},
    element("th", { scope: tag === "th" ? "col" : "row" }, cells[0]),
    ...cells.slice(1).map((text) => element(tag, tag === "th" ? { scope: "col" } : {}, text)));
  const most = Math.log(numKeys).toFixed(2);
  table.replaceChildren(
    row("th", "softmax of", ...sides.map(({ name }) => name)),
    row("td", "spread of the scores", ...sides.map((s) => s.spread.toFixed(2))),
    row("td", "largest weight", ...sides.map((s) => s.largest.toFixed(4))),
    row("td", `entropy, of ${most} nats`, ...sides.map((s) => s.entropy.toFixed(3))),
    row("td", "largest slope, of 0.25", ...sides.map((s) => s.slope.toFixed(4))));
}
