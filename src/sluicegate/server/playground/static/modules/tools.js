// The tools as a user types them: JSON in the shape of the OpenAI interface, checked before they are sent.

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** {tools, problems}: the tools (null if there are none), and what is wrong: {message, fatal}. */
export function checkTools(source) {
  if (!source.trim()) return { tools: null, problems: [] };
  let tools;
  try {
    tools = JSON.parse(source);
  } catch (error) {
    return { tools: null, problems: [{ message: `This is not JSON: ${placeOf(error.message, source)}`, fatal: true }] };
  }
  if (!Array.isArray(tools)) tools = [tools];
  const problems = [];
  const names = new Set();
  tools.forEach((tool, index) => checkTool(tool, `tool ${index + 1}`, names, problems));
  return { tools, problems };
}

function placeOf(message, source) {
  const position = /position (\d+)/.exec(message);
  if (!position || message.includes("line")) return message;
  const before = source.slice(0, Number(position[1])).split("\n");
  return `${message} (line ${before.length}, column ${before.at(-1).length + 1})`;
}

function checkTool(tool, where, names, problems) {
  const say = (message, fatal = false) => problems.push({ message: `${where}: ${message}`, fatal });
  if (tool?.type !== "function" || typeof tool.function !== "object" || tool.function === null) {
    say('needs "type": "function" and a "function"', true);
    return;
  }
  const { name, parameters } = tool.function;
  if (typeof name !== "string" || !name) {
    say('its function needs a "name"', true);
    return;
  }
  if (names.has(name)) say(`the name ${name} is taken by an earlier tool`);
  names.add(name);
  if (parameters === undefined) {
    say(`${name} declares no "parameters", so its arguments have no types`);
    return;
  }
  checkSchema(parameters, `${name}.parameters`, say);
  if (parameters?.type !== undefined && parameters.type !== "object") say(`${name}.parameters should be of type object`);
}

function checkSchema(schema, path, say) {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    say(`${path} is no JSON Schema`);
    return;
  }
  for (const type of [schema.type ?? []].flat()) {
    if (!TYPES.includes(type)) say(`${path} has the unknown type ${JSON.stringify(type)} (known: ${TYPES.join(", ")})`);
  }
  if (schema.properties !== undefined) {
    if (typeof schema.properties !== "object" || schema.properties === null) say(`${path}.properties must be an object`);
    else for (const [name, inner] of Object.entries(schema.properties)) checkSchema(inner, `${path}.${name}`, say);
  }
  if (schema.items !== undefined && !Array.isArray(schema.items)) checkSchema(schema.items, `${path}[]`, say);
  if (schema.required !== undefined) {
    if (!Array.isArray(schema.required)) say(`${path}.required must be a list`);
    else {
      const missing = schema.required.filter((name) => !(name in (schema.properties ?? {})));
      if (missing.length) say(`${path} requires ${missing.join(", ")}, which it does not describe`);
    }
  }
}
