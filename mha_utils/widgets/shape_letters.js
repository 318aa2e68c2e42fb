import {
  divisors, element, framed, listSlider, liveSentence, mountView, pageColours, picture, prepare,
  setTrait, slider, watchTheme, watchWidth,
} from "./base.js";

const [WIDTH, GAP] = [880, 26]; // CSS pixels
const DIMS = [6, 8, 12, 16, 24];

export default { render: ({ model, el }) => mountView(model, el, buildShapeLetters) };

function buildShapeLetters(view) {
  const { model, body } = view;
  const canvas = picture("the numbers of x as cells");
  const finding = liveSentence();
  const heads = divisorSlider(view);
  body.append(
    element("div", { class: "mha-controls" },
      slider(view, "B sequences", "batch_size", { min: 1, max: 3 }),
      slider(view, "T tokens", "seq_len", { min: 1, max: 8 }),
      dimSlider(view), heads),
    canvas, finding);

  const draw = framed(view, () => {
    const state = read(model);
    drawCells(canvas, state, pageColours(body));
    finding.textContent = describe(state);
    canvas.setAttribute("aria-label", `Cells coloured by head. ${finding.textContent}`);
  });
  view.onChange(["embed_dim"], () => {
    const { d, h } = read(model);
    if (d % h) {
      setTrait(model, "num_heads", divisors(d).filter((n) => n <= h).at(-1));
    }
    heads.update();
  });
  view.onChange(["batch_size", "seq_len", "embed_dim", "num_heads"], draw);
  watchTheme(view, draw);
  watchWidth(view, body, draw);
  draw();
}

function read(model) {
  const [b, t, d, h] = ["batch_size", "seq_len", "embed_dim", "num_heads"].map((n) => model.get(n));
  return { b, t, d, h, dh: Math.floor(d / h) };
}

function describe({ b, t, d, h, dh }) {
  return `x is (B, T, D) = (${b}, ${t}, ${d}): ${b * t * d} numbers. `
    + `Each of ${h} heads takes Dh = D / H = ${dh} columns, `
    + `so q is (B, H, T, Dh) = (${b}, ${h}, ${t}, ${dh}): ${b * h * t * dh} numbers.`;
}

const divisorSlider = (view) =>
  listSlider(view, "H heads", "num_heads", () => divisors(view.model.get("embed_dim")));
const dimSlider = (view) => listSlider(view, "D columns", "embed_dim", () => DIMS);

function drawCells(canvas, { b, t, d, h, dh }, { ink }) {
  const width = Math.min(WIDTH, canvas.closest(".mha-body").clientWidth || WIDTH);
  const cell = Math.min(22, (width - (b - 1) * GAP) / (b * d));
  const context = prepare(canvas, width, t * cell + 44);
  context.font = "13px sans-serif";
  context.textAlign = "center";
  for (let sequence = 0; sequence < b; sequence += 1) {
    const left = sequence * (d * cell + GAP);
    context.fillStyle = ink;
    context.fillText(`sequence ${sequence}`, left + (d * cell) / 2, 13);
    for (let column = 0; column < d; column += 1) {
      const head = Math.floor(column / dh);
      context.fillStyle = THEME.heads[head % THEME.heads.length];
      for (let token = 0; token < t; token += 1) {
        context.fillRect(left + column * cell, 22 + token * cell, cell - 1.5, cell - 1.5);
      }
    }
    context.fillStyle = ink;
    for (let head = 0; head < h; head += 1) {
      context.fillText(String(head), left + (head + 0.5) * dh * cell, 36 + t * cell);
    }
  }
}
