import {
  checkbox, divisors, element, framed, listSlider, liveSentence, mountView, pageColours, picture,
  prepare, setTrait, watchTheme, watchWidth,
} from "./base.js";

export default { render: ({ model, el }) => mountView(model, el, buildLayerCost) };

const BATCHES = [1, 2, 4, 8, 16, 32, 64];
const LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const DIMS = [256, 512, 768, 1024, 2048, 4096];
const MOST_HEADS = 64;
const NAMES = ["loop over heads", "explicit", "fused"];
const LINES = { // colour of THEME.heads, dash: never colour alone
  "loop over heads": [3, [2, 4]], explicit: [0, []], fused: [2, [9, 4]],
};
const PANELS = [
  ["flops", "Arithmetic", "FLOP"],
  ["moved", "Memory traffic", "B"],
  ["maps", "Attention maps held", "B"],
];

function buildLayerCost(view) {
  const { model, body } = view;
  const finding = liveSentence();
  const panels = PANELS.map(([key, title, unit]) => panel(key, title, unit));
  const table = element("table", { class: "mha-sums" });
  const heads = listSlider(view, "H heads", "num_heads", () => headCounts(model.get("embed_dim")));
  body.append(
    element("div", { class: "mha-controls" },
      listSlider(view, "T tokens", "seq_len", () => LENGTHS),
      listSlider(view, "B sequences", "batch_size", () => BATCHES),
      listSlider(view, "D columns", "embed_dim", () => DIMS), heads,
      checkbox(view, "causal", "is_causal"), checkbox(view, "16-bit numbers", "is_half")),
    finding,
    element("div", { class: "mha-thirds" }, ...panels.map(({ node }) => node)),
    element("div", { class: "mha-scroll" }, table));

  const draw = framed(view, () => {
    const state = compute(model);
    const sentence = describe(state);
    panels.forEach((each) => {
      drawCurves(each, state, pageColours(body));
      each.canvas.setAttribute("aria-label", `${each.title} against T, three lines. ${sentence}`);
    });
    fillTable(table, state);
    if (finding.textContent !== sentence) finding.textContent = sentence;
  });
  view.onChange(["embed_dim"], () => {
    const counts = headCounts(model.get("embed_dim"));
    const fitting = counts.filter((n) => n <= model.get("num_heads")).at(-1);
    setTrait(model, "num_heads", fitting);
    heads.update();
  });
  view.onChange(["batch_size", "seq_len", "embed_dim", "num_heads", "is_causal", "is_half"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

const headCounts = (width) => divisors(width).filter((n) => n <= MOST_HEADS);

function panel(key, title, unit) {
  const canvas = picture(title);
  const node = element("div", {}, element("p", { class: "mha-caption" }, title), canvas);
  return { key, title, unit, canvas, node };
}

// ---- the counts, as in mha_utils/costs.py ------------------------------------------------

function compute(model) {
  const [b, t, d, h] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((n) => model.get(n));
  const [causal, size] = [model.get("is_causal"), model.get("is_half") ? 2 : 4];
  const at = (length) => Object.fromEntries(NAMES.map((name) =>
    [name, costOf(name, { b, t: length, d, h, causal, size })]));
  return { b, t, d, h, causal, size, now: at(t), curves: LENGTHS.map((length) => at(length)) };
}

function costOf(name, { b, t, d, h, causal, size }) {
  const [vectors, cells] = [b * t * d, b * h * t * t];
  const isFused = name === "fused";
  const pairs = isFused && causal ? (t * (t + 1)) / 2 : t * t;
  let numbers = isFused ? 12 * vectors : 16 * vectors + (causal ? 6 : 4) * cells;
  if (name === "loop over heads") numbers += 3 * (h - 1) * vectors;
  const kept = { fused: 0, explicit: 2 * cells, "loop over heads": (2 * cells) / h }[name];
  return {
    flops: 8 * vectors * d + 4 * b * d * pairs, moved: (numbers + 4 * d * d) * size,
    maps: kept * size,
  };
}

// ---- words -----------------------------------------------------------------------------

/** Three digits and a prefix: 12.9 G. */
function short(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let step = 0;
  let left = value;
  while (left >= 999.5 && step < 5) [left, step] = [left / 1000, step + 1];
  const digits = step === 0 || left >= 99.95 ? 0 : left >= 9.995 ? 1 : 2;
  return `${(Math.floor(left * 10 ** digits + 0.5) / 10 ** digits).toFixed(digits)} ${prefixes[step]}${unit}`;
}

const times = (a, b) => (Math.floor((a / b) * 10 + 0.5) / 10).toFixed(1);

function describe({ b, t, d, h, causal, size, now }) {
  const [explicit, fused] = [now.explicit, now.fused];
  return `(${b}, ${t}, ${d}) with ${h} ${h === 1 ? "head" : "heads"}, ${size * 8} bits`
    + `${causal ? ", causal" : ""}: explicit computes ${short(explicit.flops, "FLOP")}, moves `
    + `${short(explicit.moved, "B")} and holds ${short(explicit.maps, "B")} of attention maps; `
    + `fused computes ${times(explicit.flops, fused.flops)} times less, moves `
    + `${times(explicit.moved, fused.moved)} times less and holds none.`;
}

function fillTable(table, { now }) {
  const row = (tag, first, ...cells) => element("tr", {},
    element("th", { scope: tag === "th" ? "col" : "row" }, first),
    ...cells.map((text) => element(tag, tag === "th" ? { scope: "col" } : {}, text)));
  table.replaceChildren(
    row("th", "at this T", ...PANELS.map(([, title]) => title)),
    ...NAMES.map((name) => row("td", name, ...PANELS.map(([key, , unit]) =>
      (now[name][key] ? short(now[name][key], unit) : "none")))));
}

// ---- the picture -------------------------------------------------------------------------

function drawCurves({ key, unit, canvas }, { t, curves, now }, { ink, line }) {
  const width = Math.min(canvas.parentElement.clientWidth || 280, 420);
  const [left, right, top, floor] = [56, width - 10, 12, 190];
  const context = prepare(canvas, width, floor + 40);
  const values = curves.flatMap((at) => NAMES.map((name) => at[name][key])).filter((v) => v > 0);
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))),
    Math.ceil(Math.log10(Math.max(...values)))];
  const x = (length) => left + 6 + ((right - left - 12) * Math.log2(length / LENGTHS[0]))
    / Math.log2(LENGTHS.at(-1) / LENGTHS[0]);
  const y = (value) => floor - ((floor - top) * (Math.log10(value) - low)) / (high - low);
  drawAxes(context, { low, high, unit, left, right, floor, x, y, ink, line });
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.strokeRect(x(t) - 0.5, top, 1, floor - top);
  for (const name of NAMES) {
    const [colour, dash] = LINES[name];
    context.strokeStyle = context.fillStyle = THEME.heads[colour];
    context.lineWidth = 2.5;
    context.setLineDash(dash);
    context.beginPath();
    curves.forEach((at, i) => at[name][key] && context.lineTo(x(LENGTHS[i]), y(at[name][key])));
    context.stroke();
    context.setLineDash([]);
    if (!now[name][key]) continue;
    context.beginPath();
    context.arc(x(t), y(now[name][key]), 4.5, 0, 7);
    context.fill();
  }
  drawLegend(context, left, floor + 38, NAMES.filter((name) => now[name][key]), ink);
}

function drawAxes(context, { low, high, unit, left, right, floor, x, y, ink, line }) {
  context.font = "11px sans-serif";
  context.fillStyle = ink;
  context.strokeStyle = line;
  context.lineWidth = 0.5;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let power = low; power <= high; power += 1) {
    context.strokeRect(left, y(10 ** power), right - left, 0);
    if (power % 3 === 0) {
      context.fillText(short(10 ** power, unit).replace(".00", ""), left - 4, y(10 ** power));
    }
  }
  context.fillText("T", left - 4, floor + 10);
  context.textAlign = "center";
  for (const length of [64, 512, 4096, 16384]) {
    context.fillText(length < 1000 ? String(length) : `${length / 1024}k`, x(length), floor + 10);
  }
}

function drawLegend(context, left, y, names, ink) {
  context.textAlign = "left";
  context.font = "11px sans-serif";
  let x = left - 48;
  for (const name of names) {
    const [colour, dash] = LINES[name];
    context.strokeStyle = THEME.heads[colour];
    context.lineWidth = 2.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, y - 6);
    context.lineTo(x + 20, y - 6);
    context.stroke();
    context.setLineDash([]);
    const text = name.replace(" over heads", "");
    context.fillStyle = ink;
    context.fillText(text, x + 24, y - 6);
    x += 34 + context.measureText(text).width;
  }
}
