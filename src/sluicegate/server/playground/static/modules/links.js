// What stands at a place of the raw output, and which elements of the page show it.

const NAMES = {
  content: "answer",
  reasoning: "reasoning",
  call: "call",
  markup: "marker",
  frame: "white space of the template",
  fault: "broken call",
};

/** What people call a kind of span. */
export const kindName = (kind) => NAMES[kind] ?? kind;

/** The innermost stretch at a code point: {start, end, span, part}; null outside the text. */
export function stretchAt(spans, point) {
  let low = 0;
  let high = spans.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].end <= point) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  if (!span || point < span.start || point >= span.end) return null;
  let part = null;
  for (const one of span.parts ?? []) {
    if (point >= one.start && point < one.end && (!part || one.end - one.start < part.end - part.start)) part = one;
  }
  const { start, end } = part ?? span;
  return { start, end, span, part };
}

/** "call 1 › value", for the line under the raw output. */
export function describe(answer, [start, end]) {
  const found = stretchAt(answer.spans, start);
  if (!found) return "";
  const { span, part } = found;
  const words = [kindName(span.kind)];
  if (span.kind === "call") words[0] = `call ${span.call + 1} ${answer.tool_calls[span.call]?.function.name ?? ""}`.trim();
  if (part && part.start === start && part.end === end) words.push(part.kind);
  return words.join(" › ");
}

/** Let an element stand for a stretch: to hover or focus it shows the stretch, to click it chooses it. */
export function linked(element, store, start, end) {
  element.dataset.start = start;
  element.dataset.end = end;
  const range = [start, end];
  element.addEventListener("mouseenter", () => store.set({ linked: range }));
  element.addEventListener("mouseleave", () => store.set({ linked: null }));
  element.addEventListener("focus", () => store.set({ linked: range }));
  element.addEventListener("blur", () => store.set({ linked: null }));
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    store.set({ chosen: range, chosenBy: "result" });
  });
  return element;
}

/** Mark the elements inside `root` that show the linked and the chosen stretch. */
export function markElements(root, store) {
  for (const name of ["linked", "chosen"]) {
    for (const element of root.querySelectorAll(`.is-${name}`)) element.classList.remove(`is-${name}`);
    const range = store.get(name);
    if (!range) continue;
    const found = root.querySelectorAll(`[data-start="${range[0]}"][data-end="${range[1]}"]`);
    for (const element of found) element.classList.add(`is-${name}`);
    if (name === "chosen" && store.get("chosenBy") === "text") found[0]?.scrollIntoView({ block: "nearest" });
  }
}
