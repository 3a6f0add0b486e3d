import type { JsonObject } from '../base/json.ts'
import type { InputVariable } from '../config/input-variables.ts'

const types: { readonly [type in InputVariable['type']]: JsonObject } = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  list: { type: 'array' },
  table: { type: 'object' },
}

/** The variables of a prompt file as JSON Schema of type object, with further properties, as tools and forms get them. */
export function inputSchema(variables: readonly InputVariable[], further: JsonObject = {}): JsonObject {
  const required = variables.filter((variable) => variable.required).map(({ name }) => name)
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(variables.map((variable) => [variable.name, variableSchema(variable)])),
      ...further,
    },
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

function variableSchema({ type, description, choices, default: initial }: InputVariable): JsonObject {
  const allowed = choices === undefined ? {} : type === 'list' ? { items: { enum: choices } } : { enum: choices }
  return {
    ...types[type],
    ...allowed,
    ...(description === undefined ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
  }
}
