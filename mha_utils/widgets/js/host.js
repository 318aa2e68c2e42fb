// Runs live views in a plain page: a small object stands in for the kernel's model.
for (const place of document.querySelectorAll("[data-mha-view]")) {
  showView(/** @type {HTMLElement} */ (place));
}

/** @param {HTMLElement} place */
async function showView(place) {
  const data = document.getElementById(place.dataset.mhaView ?? "");
  const stored = JSON.parse(data?.textContent ?? "{}");
  const { _esm: source, _css: css, ...state } = stored.state;
  for (const [name, text] of Object.entries(stored.bytes)) {
    state[name] = await unpacked(text);
  }
  if (!document.getElementById("mha-view-style")) {
    const style = document.createElement("style");
    style.id = "mha-view-style";
    style.textContent = css;
    document.head.append(style);
  }
  const file = new Blob([source], { type: "text/javascript" });
  const module = await import(URL.createObjectURL(file));
  const root = document.createElement("div");
  place.replaceChildren(root);
  module.default.render({ model: plainModel(state), el: root });
}

/** The bytes that `embed` of page.py has deflated. @param {string} text in base64 */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(bytes).arrayBuffer());
}

/**
 * @param {Record<string, any>} state
 * @returns {import("./kit/model.js").Model}
 */
function plainModel(state) {
  /** @type {Map<string, Set<() => void>>} */
  const calls = new Map();
  /** @param {string} event */
  const of = (event) => {
    const found = calls.get(event) ?? new Set();
    calls.set(event, found);
    return found;
  };
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      of(`change:${name}`).forEach((call) => call());
    },
    on: (event, call) => void of(event).add(call),
    off: (event, call) => void of(event).delete(call),
    save_changes() {},
  };
}
