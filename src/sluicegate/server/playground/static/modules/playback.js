// What a parser has said at every position of a stream, what it holds back, and why. No page here: pure functions.

/**
 * The steps of a stream of `length` code points: {fed, events, waiting}. `events` is how many have come by then,
 * `waiting` how many code points are held back; what belongs to a call whose name was told is not.
 */
export function stepsOf(events, length, size) {
  const steps = [{ fed: 0, events: 0, waiting: 0 }];
  let index = 0;
  let covered = 0;
  let open = null;
  for (let fed = Math.min(size, length); ; fed = Math.min(fed + size, length)) {
    while (index < events.length && events[index].fed <= fed) {
      const event = events[index];
      covered += tilesOf(event).reduce((sum, [start, end]) => sum + end - start, 0);
      if (event.type === "call_start") open = event.start;
      else if (event.type === "call_end" || event.type === "call_fault") open = null;
      index += 1;
    }
    steps.push({ fed, events: index, waiting: Math.max(0, (open ?? fed) - covered) });
    if (fed >= length) return steps;
  }
}

const TILES = new Set(["content", "reasoning", "frame", "markup", "fault", "call_end"]);

function tilesOf(event) {
  if (!TILES.has(event.type)) return [];
  return event.pieces?.length ? event.pieces : [[event.start, event.end]];
}

/** All that was said by the first events: {content, reasoning, calls, broken, held, reading}. */
export function stateAt(events, fed) {
  const state = { content: "", reasoning: "", calls: [], broken: [], held: [], reading: null };
  const byIndex = new Map();
  const tiles = [];
  for (const event of events) {
    tiles.push(...tilesOf(event));
    if (event.type === "content") state.content += event.text;
    else if (event.type === "reasoning") state.reasoning += event.text;
    else if (event.type === "call_start") byIndex.set(event.index, { name: event.name, arguments: "", status: "open", start: event.start });
    else if (event.type === "arguments_delta") byIndex.get(event.index).arguments += event.json;
    else if (event.type === "call_end") byIndex.set(event.index, { name: event.name, arguments: event.arguments, status: "done", start: event.start });
    else if (event.type === "call_fault") {
      state.broken.push(event);
      const known = byIndex.get(event.index);
      if (known) known.status = event.incomplete ? "cut off" : "broken";
    }
  }
  state.calls = [...byIndex.values()];
  const open = state.calls.find((call) => call.status === "open");
  state.held = gaps(tiles, fed);
  if (open) {
    state.reading = { name: open.name, start: open.start };
    state.held = state.held.flatMap(([start, end]) => (start >= open.start ? [] : [[start, Math.min(end, open.start)]]));
  }
  return state;
}

function gaps(tiles, fed) {
  const found = [];
  let at = 0;
  for (const [start, end] of tiles.sort((one, two) => one[0] - two[0])) {
    if (start > at) found.push([at, start]);
    at = Math.max(at, end);
  }
  if (fed > at) found.push([at, fed]);
  return found;
}

/** Why a text is held back, in words. `markers` are those of the parsers in use. */
export function whyHeld(text, state, markers) {
  const before = text.trimStart();
  if (state.broken.length && !state.calls.some((call) => call.status === "done")) {
    return "A call could not be read. Whether it is answer text is known when a good call follows, or when the output ends.";
  }
  const whole = markers.find((marker) => marker.trim() && text.includes(marker));
  if (whole) return `${shown(whole)} was seen, and what it begins is not complete: a name is sent when all of it is there.`;
  for (let start = 0; start < text.length; start += 1) {
    const suffix = text.slice(start);
    const marker = markers.find((one) => one.length > suffix.length && one.startsWith(suffix));
    if (marker && suffix.trim()) return `${shown(suffix)} may become ${shown(marker)}.`;
  }
  if (before === "") return "White space that the template may have written around a block: what follows decides.";
  return "It is not certain yet what this is.";
}

const shown = (text) => `“${text.replaceAll("\n", "↵")}”`;

/** Markers that open blocks, and what closes them where they are tags. */
export function markersOf(formats, sides) {
  const found = new Set();
  for (const format of formats) {
    if (!format.names.includes(sides[format.kind]?.parser)) continue;
    for (const marker of format.markers) {
      found.add(marker);
      const tag = /^<([^/>]+)>$/.exec(marker);
      if (tag) found.add(`</${tag[1]}>`);
      for (const [open, close] of [["begin", "end"], ["START", "END"]]) if (marker.includes(open)) found.add(marker.replace(open, close));
    }
  }
  return [...found].sort((one, two) => two.length - one.length);
}
