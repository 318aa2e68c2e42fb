// What `tools.browser.bench_views` runs inside the page.

// A frame counts when the canvas was drawn to and the browser then got to its next task.
const watchCanvas = () => {
  for (const name of ["drawImage", "putImageData", "fillRect", "stroke"]) {
    const original = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...args) {
      window.drawn = true;
      return original.apply(this, args);
    };
  }
};

// Times one key press inside the page: from the key event to the task after the drawn frame.
// A slider moves one step; a picture that is painted on gets a space.
const press = (node) => new Promise((resolve) => {
  window.drawn = false;
  const start = performance.now();
  if (node.matches("canvas")) {
    node.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  } else {
    const forward = Number(node.value) < Number(node.max);
    node.value = Number(node.value) + Number(node.step || 1) * (forward ? 1 : -3);
    node.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const look = () => {
    if (!window.drawn) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(performance.now() - start);
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
});

// From a slider's step to the frame in which the cell that follows the view shows other words.
const pressAndFollow = (node) => new Promise((resolve) => {
  const outputs = node.closest(".jp-Cell").querySelectorAll(".jp-RenderedText");
  const words = () => [...outputs].map((output) => output.innerText).join();
  const [before, start] = [words(), performance.now()];
  node.value = Number(node.value) + Number(node.step) * (Number(node.value) < 3 ? 1 : -9);
  node.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () =>
    words() === before ? requestAnimationFrame(look) : resolve(performance.now() - start);
  requestAnimationFrame(look);
});

// The usual way answers with a new <img>; its slider is not a native one, so keys are sent.
const watchImages = () => {
  window.pictures = 0;
  const seen = new WeakSet(document.images);
  const look = () => {
    for (const image of document.querySelectorAll(".jp-OutputArea img")) {
      if (image.complete && !seen.has(image)) {
        seen.add(image);
        window.pictures += 1;
        window.pictureAt = performance.now();
      }
    }
    requestAnimationFrame(look);
  };
  look();
};

const setSource = (source) => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.model.cells.get(0).sharedModel.setSource(source);
};
