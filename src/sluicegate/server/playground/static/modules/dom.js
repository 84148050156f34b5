// Making elements without a framework.

/**
 * Make an element. Properties that start with "on" are listeners, "class" and names with a dash are attributes,
 * "data" is a dataset, the rest are properties of the element.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "for" || name === "role" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The element of this id. */
export const byId = (id) => document.getElementById(id);

/** Call `work` once things have been quiet for `milliseconds`; `.now()` does it at once. */
export function debounced(work, milliseconds) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
  later.now = () => {
    clearTimeout(timer);
    work();
  };
  return later;
}

/** "1 call", "2 calls", with digits in groups. */
export const count = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A number with its digits in groups. */
export const grouped = (number) => number.toLocaleString("en-US");
