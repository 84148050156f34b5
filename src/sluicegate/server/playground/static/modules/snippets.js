// What is on the page as a command, as a program and as a test case.

import { hasKey, serviceAddress } from "./service.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A curl command that asks the service the same. */
export function asCurl({ request }) {
  const key = hasKey() ? ` \\\n  -H "authorization: Bearer $SLUICEGATE_KEY"` : "";
  return `curl -s ${serviceAddress()}/parse -H 'content-type: application/json'${key} \\\n  -d ${quoted(JSON.stringify({ ...request, explain: true }))}\n`;
}

/** A program that reads the same without a service. */
export function asPython(reading) {
  return `${call(reading)}
print(outcome.reasoning)
print(outcome.content)
for call in outcome.calls:
    print(call.name, call.arguments)
for diagnostic in outcome.diagnostics:
    print(diagnostic.severity, diagnostic.code, diagnostic.message)
`;
}

/** A pytest test that holds what is read now. */
export function asTest({ request, answer }) {
  const calls = answer.tool_calls.map((one) => `(${python(one.function.name)}, ${python(one.function.arguments)})`);
  const faults = answer.faults.map((fault) => python(fault.code));
  return `import sluicegate

RAW = ${python(request.text)}


def test_output():
    outcome = sluicegate.parse(${arguments_(request, "RAW", 8)}
    )
    assert outcome.reasoning == ${python(answer.reasoning_text)}
    assert outcome.content == ${python(answer.content)}
    assert [(call.name, call.arguments) for call in outcome.calls] == [${calls.join(", ")}]
    assert [fault.code for fault in outcome.faults] == [${faults.join(", ")}]
`;
}

function call({ request }) {
  return `import sluicegate

raw = ${python(request.text)}
outcome = sluicegate.parse(${arguments_(request, "raw", 4)}
)`;
}

function arguments_(request, name, indent) {
  const { text: _text, ...rest } = request;
  const lines = [`${name},`, ...Object.entries(rest).map(([member, value]) => `${member}=${python(value)},`)];
  return lines.map((line) => `\n${" ".repeat(indent)}${line}`).join("");
}

/** A value as Python writes it. */
export function python(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, inner]) => `${python(key)}: ${python(inner)}`).join(", ")}}`;
  // A string of JSON is one of Python.
  return JSON.stringify(value);
}
