// Colours in a text: with the CSS Custom Highlight API, or with elements where a browser has none.

const BLOCK = 8192;
const PREFIX = "raw-";

/** Shows a text in an element and paints layers over it. A layer is a name and a list of [start, end] in UTF-16 units. */
export class Painter {
  constructor(element, { elements = !("highlights" in CSS) } = {}) {
    this.element = element;
    this.elements = elements;
    this.layers = new Map();
    this.blocks = [];
    this.length = 0;
  }

  /** Show another text. Long ones are cut into blocks, which the browser lays out when they are looked at. */
  show(text, { inBlocks = false } = {}) {
    this.text = text;
    this.length = text.length;
    // What is left of the old layers would point into nodes that are gone.
    if (!this.elements) for (const name of this.layers.keys()) CSS.highlights.delete(PREFIX + name);
    this.layers.clear();
    if (this.elements) {
      this.repaint();
      return;
    }
    this.blocks = [];
    const parts = inBlocks ? cutAtLines(text) : [text];
    let start = 0;
    const children = parts.map((part) => {
      const node = document.createTextNode(part);
      this.blocks.push({ node, start });
      start += part.length;
      if (!inBlocks) return node;
      const block = document.createElement("div");
      block.className = "block";
      block.append(node);
      return block;
    });
    this.element.replaceChildren(...children);
  }

  /** Set layers: {name: ranges}. */
  paint(layers) {
    for (const [name, ranges] of Object.entries(layers)) this.layers.set(name, ranges);
    if (this.elements) {
      this.repaint();
      return;
    }
    for (const [name, ranges] of Object.entries(layers)) {
      const highlight = new Highlight();
      highlight.priority = PRIORITIES[name] ?? 1;
      for (const [start, end] of ranges) if (start < end) highlight.add(this.range(start, end));
      CSS.highlights.set(PREFIX + name, highlight);
    }
  }

  range(start, end) {
    const first = this.place(start);
    const last = this.place(end);
    return new StaticRange({
      startContainer: first.node,
      startOffset: start - first.start,
      endContainer: last.node,
      endOffset: Math.min(end - last.start, last.node.length),
    });
  }

  place(offset) {
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].start <= offset) low = middle;
      else high = middle - 1;
    }
    return this.blocks[low];
  }

  /** Offset in the text of a place in the document; -1 outside it. */
  offsetOf(node, offset) {
    if (this.elements) {
      const range = document.createRange();
      if (!this.element.contains(node)) return -1;
      range.setStart(this.element, 0);
      range.setEnd(node, offset);
      return range.toString().length;
    }
    const found = this.blocks.find((block) => block.node === node);
    return found ? found.start + offset : -1;
  }

  /** A live range, for asking where a stretch stands on the screen. */
  liveRange(start, end) {
    const range = document.createRange();
    if (this.elements) {
      const walker = document.createTreeWalker(this.element, NodeFilter.SHOW_TEXT);
      let at = 0;
      range.selectNodeContents(this.element);
      while (walker.nextNode()) {
        const { length } = walker.currentNode;
        if (start >= at && start <= at + length) range.setStart(walker.currentNode, start - at);
        if (end >= at && end <= at + length) {
          range.setEnd(walker.currentNode, end - at);
          break;
        }
        at += length;
      }
      return range;
    }
    const { startContainer, startOffset, endContainer, endOffset } = this.range(start, end);
    range.setStart(startContainer, startOffset);
    range.setEnd(endContainer, endOffset);
    return range;
  }

  /** Without the API: one element for each stretch that has the same layers. */
  repaint() {
    const cuts = new Set([0, this.length]);
    const changes = new Map();
    const change = (at, name, by) => {
      cuts.add(at);
      if (!changes.has(at)) changes.set(at, []);
      changes.get(at).push([name, by]);
    };
    for (const [name, ranges] of this.layers) {
      for (const [start, end] of ranges) {
        if (start >= end || end > this.length) continue;
        change(start, name, 1);
        change(end, name, -1);
      }
    }
    const sorted = [...cuts].sort((one, two) => one - two);
    const active = new Map();
    const children = [];
    for (let index = 0; index < sorted.length; index += 1) {
      for (const [name, by] of changes.get(sorted[index]) ?? []) active.set(name, (active.get(name) ?? 0) + by);
      const piece = this.text.slice(sorted[index], sorted[index + 1] ?? this.length);
      if (!piece) continue;
      const span = document.createElement("span");
      span.className = [...active].filter(([, depth]) => depth > 0).map(([name]) => `${PREFIX}${name}`).join(" ");
      span.textContent = piece;
      children.push(span);
    }
    this.element.replaceChildren(...children);
  }
}

/** What is painted over what. */
const PRIORITIES = { name: 2, key: 2, value: 2, problem: 3, warning: 3, stop: 4, held: 5, unfed: 6, linked: 7, chosen: 8 };

function cutAtLines(text) {
  const parts = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + BLOCK, text.length);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end - 1);
      if (line > start) end = line + 1;
      // A pair of surrogates stays in one node.
      else if (isHigh(text.charCodeAt(end - 1))) end -= 1;
    }
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts.length ? parts : [""];
}

const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;
