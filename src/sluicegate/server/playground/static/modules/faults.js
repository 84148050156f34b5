// Why a call could not be read, in words for somebody who has never seen the format.

/** The code points at which reading a call stopped, if its arguments tell; null otherwise. */
export function stopPlace(fault, offsets) {
  if (fault.incomplete || fault.arguments.length < 2) return null;
  const raw = offsets.slice(fault.start, fault.end);
  for (let open = raw.indexOf(fault.arguments[0]); open >= 0; open = raw.indexOf(fault.arguments[0], open + 1)) {
    const stop = follow(raw, open, fault.arguments);
    if (stop >= 0 && stop < raw.length) {
      const start = fault.start + [...raw.slice(0, stop)].length;
      return [start, start + 1];
    }
  }
  return null;
}

/** Where `wanted` ends in `raw` when white space between is skipped; -1 if they differ. */
function follow(raw, at, wanted) {
  let position = at;
  for (const character of wanted) {
    while (raw[position] !== character[0] && /\s/.test(raw[position] ?? "")) position += 1;
    if (!raw.startsWith(character, position)) return -1;
    position += character.length;
  }
  while (/\s/.test(raw[position] ?? "")) position += 1;
  return position;
}

/** {title, message, hint, stop} of one fault of an answer. */
export function explainFault(fault, answer, offsets) {
  const name = fault.name ? `The call to ${fault.name}` : "A call";
  const title = fault.incomplete ? `${name} was cut off` : `${name} could not be read`;
  const said = answer.diagnostics.find((one) => one.code === fault.code && one.start === fault.start);
  const stop = stopPlace(fault, offsets);
  return { title, message: said?.message ?? fault.code, hint: hintFor(fault, stop, offsets), stop, excerpt: stop && excerptAt(stop, offsets) };
}

/** The line around the place where reading stopped: [before, there, behind]. */
function excerptAt([start, end], offsets) {
  const before = offsets.slice(Math.max(0, start - 48), start);
  const behind = offsets.slice(end, Math.min(offsets.length, end + 32));
  return [before.slice(before.lastIndexOf("\n") + 1), offsets.slice(start, end), behind.split("\n")[0]];
}

function hintFor(fault, stop, offsets) {
  if (fault.incomplete) {
    return "The output ended before the call did: the model ran into its token limit, or generation was stopped. Raise max_tokens; a call that was cut off must never be run.";
  }
  if (fault.code === "depth_exceeded") return "The arguments nest deeper than any tool needs: the model has run away.";
  if (stop) {
    const before = offsets.slice(Math.max(0, stop[0] - 1), stop[0]);
    const there = offsets.slice(stop[0], stop[1]);
    if (before === '"' && !/[,:}\]]/.test(there)) {
      return 'The quote before it ended the string. Inside a JSON string a quote is written \\" and the model forgot the backslash.';
    }
    if (there === "\n" || there === "\t") return "Inside a JSON string a line break is written \\n and a tab \\t; the model wrote them as they are.";
    if (there === "'") return "JSON strings stand in double quotes; the model wrote single ones.";
    if (there === "}" || there === "]") return "Something is missing before this bracket, such as a value or the closing bracket of what is inside.";
  }
  return "Everything else in the output was read. If the block looks right to you, another parser may fit: the pickers below tell why this one was chosen.";
}

const HINTS = {
  unclosed_parameter: "The last value has no closing tag; it was read up to the end of its call.",
  schema_mismatch: "The value is kept as the model wrote it. Check the tool's schema, or tell the model what went wrong.",
  duplicate_key: "Both stay in the arguments; most readers take the last one.",
  undeclared_tool: "The model made the name up, or the tool is missing from the list of tools.",
  unclosed_wrapper: "The complete calls count all the same.",
  unclosed_reasoning: "The output ended while the model was thinking, or a call ended the thought.",
  stray_reasoning_marker: "If the prompt had opened the thought already, set “the output begins” to “in reasoning”.",
  other_format_markers: "Another parser may fit better: see the pickers.",
  no_parser: "Give the model's name, or pick a parser.",
};

/** What to do about a diagnostic, if there is something to say. */
export const hintOf = (code) => HINTS[code] ?? "";
