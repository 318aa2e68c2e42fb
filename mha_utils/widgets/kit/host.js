// Runs live views in a plain page: a small object stands in for the kernel's model.
for (const place of document.querySelectorAll("[data-mha-view]")) showView(place);

async function showView(place) {
  const stored = JSON.parse(document.getElementById(place.dataset.mhaView).textContent);
  const { _esm: source, _css: css, ...state } = stored.state;
  for (const [name, text] of Object.entries(stored.bytes)) {
    state[name] = new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
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

function plainModel(state) {
  const calls = new Map();
  const of = (event) => calls.get(event) ?? calls.set(event, new Set()).get(event);
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      of(`change:${name}`).forEach((call) => call());
    },
    on: (event, call) => of(event).add(call),
    off: (event, call) => of(event).delete(call),
    save_changes() {},
  };
}
