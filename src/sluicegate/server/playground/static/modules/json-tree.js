// JSON as a tree. Numbers stay as they are written: a browser would round the large ones.

import { h } from "./dom.js";

/** A number as the text that was written. */
class Written {
  constructor(text) {
    this.text = text;
  }
}

function read(text) {
  return JSON.parse(text, (_key, value, context) => (typeof value === "number" && context?.source ? new Written(context.source) : value));
}

/** The tree of a JSON text. `onMember(key, keyElement, valueElement)` is called for each member at the top. */
export function jsonTree(text, onMember = () => {}) {
  let value;
  try {
    value = read(text);
  } catch {
    return h("code", { class: "json-broken" }, text);
  }
  return isContainer(value) ? members(value, onMember) : leaf(value);
}

const isContainer = (value) => typeof value === "object" && value !== null && !(value instanceof Written);

function members(container, onMember = null) {
  const isList = Array.isArray(container);
  const entries = Object.entries(container);
  if (!entries.length) return h("code", { class: "json-empty" }, isList ? "[ ]" : "{ }");
  return h(
    "ul",
    { class: "json" },
    entries.map(([key, value]) => member(key, value, isList, onMember)),
  );
}

function member(key, value, isList, onMember) {
  // At the top a key is a control, for it shows the place it comes from.
  const label = h(onMember ? "button" : "span", { class: isList ? "json-index" : "json-key", ...(onMember && { type: "button" }) }, key);
  let shown;
  let item;
  if (isContainer(value) && Object.keys(value).length) {
    const size = Object.keys(value).length;
    const summary = h("summary", {}, onMember ? "" : label, h("span", { class: "json-size" }, Array.isArray(value) ? `list of ${size}` : `object of ${size}`));
    shown = h("details", { open: true }, summary, members(value));
    item = h("li", { class: "json-nested" }, onMember && label, shown);
  } else {
    shown = isContainer(value) ? members(value) : leaf(value);
    item = h("li", {}, label, shown);
  }
  onMember?.(key, label, shown);
  return item;
}

function text(value) {
  const isLong = value.includes("\n") || value.length > 300;
  // A long text may have to be scrolled, by the keyboard too.
  return h("code", { class: `json-string${isLong ? " json-long" : ""}`, ...(isLong && { tabIndex: 0 }) }, value === "" ? "(empty)" : value);
}

function leaf(value) {
  if (value instanceof Written) return h("code", { class: "json-number" }, value.text);
  if (typeof value === "string") return text(value);
  return h("code", { class: "json-word" }, String(value));
}
