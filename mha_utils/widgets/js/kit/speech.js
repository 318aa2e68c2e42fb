// Lets a screen reader say what is new in a view, as soon as the reader pauses.
import { element, write } from "./element.js";

const PAUSE = 500; // milliseconds without a change until a screen reader is told
const HEARD = 5000; // after which the words leave the page: they stand there for the eye as well

/**
 * Tells a screen reader what is shown: once, when the reader pauses, only what is new, and not what
 * the pointer passes over. Nothing is said of the first picture: who reads the page finds it.
 * @param {HTMLElement} root of the view
 * @param {(stop: () => void) => void} onStop
 * @returns {(...parts: string[]) => void}
 */
export function speaker(root, onStop) {
  const status = element("p", { class: "mha-spoken", role: "status" });
  /** @type {string[] | undefined} */
  let heard;
  let [pause, forget, hovers] = [0, 0, false];
  root.append(status);
  root.addEventListener("pointermove", (event) => (hovers = !event.buttons), true);
  root.addEventListener("pointerleave", () => (hovers = false));
  for (const act of ["pointerdown", "keydown", "input", "change"]) {
    root.addEventListener(act, () => (hovers = false), true);
  }
  onStop(() => [pause, forget].forEach((timer) => clearTimeout(timer)));

  /** @type {(text: string, parts: string[]) => void} */
  const speak = (text, parts) => {
    heard = parts;
    write(status, text);
    clearTimeout(forget);
    forget = setTimeout(() => write(status, ""), HEARD);
  };
  return (...parts) => {
    heard ??= parts;
    const text = parts.filter((part, n) => part !== heard?.[n]).join(" ");
    if (hovers) return;
    clearTimeout(pause);
    if (text) pause = setTimeout(() => speak(text, parts), PAUSE);
  };
}
