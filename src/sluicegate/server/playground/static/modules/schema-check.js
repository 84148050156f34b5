// Whether the arguments of a call fit the schema of its tool: types, required members, listed values.

/** What does not fit, as sentences. `tools` are the tool definitions, `call` is one of the answer's. */
export function checkCall(call, tools) {
  const tool = tools?.find((one) => one.function.name === call.function.name);
  if (!tool) return [];
  const problems = [];
  check(JSON.parse(call.function.arguments), tool.function.parameters ?? {}, "", problems);
  return problems;
}

function check(value, schema, path, problems) {
  if (typeof schema !== "object" || schema === null) return;
  const where = path || "the arguments";
  const types = [schema.type ?? []].flat();
  if (types.length && !types.some((type) => fits(value, type))) {
    problems.push(`${where} should be ${types.join(" or ")}, and is ${typeName(value)}`);
    return;
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value))) {
    problems.push(`${where} should be one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}`);
  }
  if (Array.isArray(value)) {
    value.forEach((inner, index) => check(inner, schema.items, `${path}[${index}]`, problems));
  } else if (typeName(value) === "object") {
    for (const name of Array.isArray(schema.required) ? schema.required : []) {
      if (!(name in value)) problems.push(`${join(path, name)} is required, and missing`);
    }
    for (const [name, inner] of Object.entries(value)) {
      if (schema.properties && name in schema.properties) check(inner, schema.properties[name], join(path, name), problems);
      else if (schema.additionalProperties === false) problems.push(`${join(path, name)} is not known to the tool`);
    }
  }
}

const join = (path, name) => (path ? `${path}.${name}` : name);

function typeName(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function fits(value, type) {
  return type === "integer" ? Number.isInteger(value) : typeName(value) === type;
}
