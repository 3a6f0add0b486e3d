import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { address, duration, timeLimit } from './expect.ts'
import { innerKeyDocs, keyDocs } from './key-docs.ts'
import { isReserved, reserved, type ReservedKey, unavailableIn } from './keys.ts'
import { schemas } from './schema.ts'
import { defaultLayer } from './settings.ts'

/** A key that may not be there. */
const never: JsonObject = { description: 'Not a key of sub-agents: use stage.', not: {} }

/**
 * What the schemas of `baton schema` say in their own words, because Baton reads these values by hand, or because this
 * version takes one value only.
 */
export const byHand: { readonly [key in ReservedKey]?: JsonObject } = {
  mode: { enum: ['classic'] },
  instructions: { enum: [false] },
  sub_agents: {
    type: 'array',
    items: {
      anyOf: [
        { type: 'string', pattern: String.raw`\S` },
        {
          type: 'object',
          required: ['name'],
          // what an agent does not know of its entry is an option of the agent
          properties: {
            name: { type: 'string', pattern: String.raw`\S` },
            enabled: { type: 'boolean', default: true },
            stage: { anyOf: [stage(), { type: 'array', minItems: 1, items: stage() }], default: 'pre' },
            merge: { enum: ['replace', 'shallow', 'deep'] },
            as: { enum: ['append', 'replace', 'result', 'params'], default: 'append' },
            options: { type: 'object' },
            on: never,
            stage_pre: never,
            stage_post: never,
            agent_on: never,
          },
        },
      ],
    },
  },
}

function stage(): JsonObject {
  return { enum: ['pre', 'pre_task', 'post_task', 'post'] }
}

/**
 * The JSON Schema (draft-07, without what draft-04 does not have, which is all that taplo promises) of the front
 * matter, or of config files. Keys that this version does not have are left out, each key says what it means, and its default if it has one. Editors
 * show what is wrong with it as `baton check` does, but for what depends on other files.
 */
export function configJsonSchema(subject: 'prompt' | 'config'): JsonObject {
  const keys = [...reserved].flatMap(([key, { available, isPromptOnly, isGuarded }]) => {
    const hasPlace = subject === 'prompt' ? !isGuarded : !isPromptOnly
    return available !== false && hasPlace && isReserved(key) ? [key] : []
  })
  const properties = Object.fromEntries(keys.map((key) => [key, propertyOf(key)]))
  return subject === 'prompt'
    ? {
        ...head('Front matter of a Baton prompt file'),
        properties,
        // a key that is not reserved is a parameter for sub-agents
        additionalProperties: true,
      }
    : { ...head('Baton config file: baton.toml, or config.toml of the user'), properties, additionalProperties: false }
}

function head(title: string): JsonObject {
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, type: 'object' }
}

function propertyOf(key: ReservedKey): JsonObject {
  const schema = byHand[key] ?? available(key, generated(schemas[key]))
  const initial = defaultLayer.values[key]
  return {
    description: keyDocs[key],
    ...described(schema, [key]),
    ...(initial === undefined || isJsonObject(initial) ? {} : { default: initial }),
  }
}

function generated(schema: z.ZodType): JsonObject {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // these two are checked by code, which a schema cannot hold
      if (zodSchema === duration || zodSchema === timeLimit)
        jsonSchema.pattern = String.raw`^\s*\d{1,10}(\.\d{1,3})?(ms|s|m|h|d)\s*$`
      if (zodSchema === address) jsonSchema.pattern = '^[Hh][Tt][Tt][Pp][Ss]?:'
      // the bounds of numbers that are stored exactly say nothing to a person
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (isStringNames(jsonSchema.propertyNames)) delete jsonSchema.propertyNames
    },
  })
  return made as JsonObject
}

/** What TOML and YAML allow anyway. */
function isStringNames(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}'
}

/** Without the keys of its table that this version does not have. */
function available(key: ReservedKey, schema: JsonObject): JsonObject {
  const { properties } = schema
  if (!isJsonObject(properties)) return schema
  const kept = Object.entries(properties).filter(([inner]) => unavailableIn(key, { [inner]: null }) === undefined)
  return { ...schema, properties: Object.fromEntries(kept) }
}

/** The same schema with the description and the default of every key of its tables. */
function described(schema: JsonObject, path: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]): [string, Json] => {
      if (keyword === 'const') return ['enum', [value]]
      if (keyword === 'properties' && isJsonObject(value)) return [keyword, describedTable(value, path)]
      if (keyword === 'additionalProperties' && isJsonObject(value)) return [keyword, described(value, [...path, '*'])]
      if (keyword === 'items' && isJsonObject(value)) return [keyword, described(value, path)]
      if (keyword === 'anyOf' && Array.isArray(value)) {
        return [keyword, (value as readonly Json[]).map((item) => (isJsonObject(item) ? described(item, path) : item))]
      }
      return [keyword, value]
    }),
  )
}

function describedTable(properties: JsonObject, path: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]): [string, Json] => {
      if (!isJsonObject(schema)) return [key, schema]
      const inner = [...path, key]
      const description = innerKeyDocs[inner.join('.')]
      const initial = defaultOf(inner)
      return [
        key,
        {
          ...(description === undefined ? {} : { description }),
          ...described(schema, inner),
          ...(initial === undefined ? {} : { default: initial }),
        },
      ]
    }),
  )
}

function defaultOf([key = '', inner = '', ...deeper]: readonly string[]): Json | undefined {
  const table = defaultLayer.values[key]
  return deeper.length === 0 && isJsonObject(table) ? table[inner] : undefined
}
