// What the page knows, and who wants to hear of changes.

export class Store {
  #listeners = [];

  constructor(values) {
    this.values = values;
  }

  get(name) {
    return this.values[name];
  }

  /** Change some values; tells everyone who listens to one that is different now. */
  set(changes) {
    const changed = Object.keys(changes).filter((name) => !same(this.values[name], changes[name]));
    if (!changed.length) return;
    Object.assign(this.values, changes);
    for (const [names, listener] of this.#listeners) if (names.some((name) => changed.includes(name))) listener();
  }

  /** Call `listener` after a change of any of these values. */
  on(names, listener) {
    this.#listeners.push([names, listener]);
  }
}

const same = (one, two) =>
  one === two || (Array.isArray(one) && Array.isArray(two) && one.length === two.length && one.every((value, index) => value === two[index]));

/** What is shared in a link, with the values of a fresh page. */
export const SHARED = {
  text: "",
  model: "",
  toolParser: "auto",
  reasoningParser: "auto",
  inReasoning: "",
  tools: "",
  tokenizer: "",
  other: "",
  addSpecial: false,
  parseSpecial: true,
  chunkSize: 4,
  tab: "parse",
};
