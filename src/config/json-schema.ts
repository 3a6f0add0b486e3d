import * as z from 'zod'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { merges, stages, textUses, unsupported } from './agent-config.ts'
import { address, duration, timeLimit } from '../settings/kinds.ts'
import { type ReservedKey, isGuarded, isReserved, isSetting, reserved } from '../settings/keys.ts'
import { schemas } from '../settings/schema.ts'
import type { SettingRow, TableRow, ValueRow } from '../settings/setting.ts'

interface SchemaNames {
  readonly tools?: readonly string[]
}

/**
 * The JSON Schema of the front matter, or of config files: draft-07 restricted to features of draft-04, because taplo
 * promises no more. Keys that are not available in this version are omitted. Editors report what `baton check` reports,
 * except what depends on other files.
 * @param names what editors offer: the names of existing tools
 */
export function configJsonSchema(subject: 'prompt' | 'config', { tools = [] }: SchemaNames = {}): JsonObject {
  const properties = [...reserved].flatMap(([key, entry]) => {
    const isAllowed = subject === 'prompt' ? isReserved(key) && !isGuarded(key) : !entry.isPromptOnly
    return isAllowed && isSetting(key) ? [[key, propertyOf(key, entry)] as const] : []
  })
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title:
      subject === 'prompt'
        ? 'Front matter of a Baton prompt file'
        : 'Baton config file: baton.toml, or config.toml of the user',
    type: 'object',
    properties: { ...(Object.fromEntries(properties) as JsonObject), ...toolLists(properties, tools) },
    // a key of a prompt file that is not reserved is a parameter for sub-agents
    additionalProperties: subject === 'prompt',
  }
}

/** The tool lists, with names for editors to offer; patterns and tools of servers are valid as well. */
function toolLists(properties: readonly (readonly [string, JsonObject])[], tools: readonly string[]): JsonObject {
  if (tools.length === 0) return {}
  const lists = properties.filter(([key]) => key === 'tools' || key === 'disallowed_tools')
  return Object.fromEntries(
    lists.map(([key, { items = {}, ...list }]) => [key, { ...list, items: { anyOf: [{ enum: tools }, items] } }]),
  )
}

function propertyOf(key: ReservedKey, row: SettingRow): JsonObject {
  const { text, available, initial } = row
  const schema = typeof available === 'object' ? { enum: available } : key === 'sub_agents' ? subAgents : undefined
  return {
    description: text,
    ...(schema ?? described(generated(schemas[key]), { row, hasDefaults: !('each' in row) })),
    ...defined({ default: initial }),
  }
}

const agentName: JsonObject = { type: 'string', pattern: String.raw`\S` }
const notAKey: JsonObject = { description: 'Not a key of sub-agents: use stage.', not: {} }

/** Hand-written, because the entries of `sub_agents` are not checked by zod. */
const subAgents: JsonObject = {
  type: 'array',
  items: {
    anyOf: [
      agentName,
      {
        type: 'object',
        required: ['name'],
        // further keys are options of the agent
        properties: {
          name: { description: 'The agent: a built-in one, a file, or namespace@pack/agent.', ...agentName },
          enabled: { description: 'false disables it.', type: 'boolean', default: true },
          stage: {
            description: 'When it runs: before the tasks, before or after each task, or after all of them.',
            default: 'pre',
            anyOf: [{ enum: stages }, { type: 'array', minItems: 1, items: { enum: stages } }],
          },
          merge: { description: 'How the coder_params it returns are merged into the existing ones.', enum: merges },
          as: { description: 'Where the text goes if the agent returns text.', enum: textUses, default: 'append' },
          options: { description: 'Settings of this agent, such as its model.', type: 'object' },
          ...Object.fromEntries(unsupported.map((key) => [key, notAKey])),
        },
      },
    ],
  },
}

function generated(schema: z.ZodType): JsonObject {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // these two are checked by code, which a schema cannot contain
      if (zodSchema === duration || zodSchema === timeLimit)
        jsonSchema.pattern = String.raw`^\s*\d{1,10}(\.\d{1,3})?(ms|s|m|h|d)\s*$`
      if (zodSchema === address) jsonSchema.pattern = '^[Hh][Tt][Tt][Pp][Ss]?:'
      // the bounds of safe integers carry no information
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      // TOML and YAML allow no other names
      if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
    },
  })
  return made as JsonObject
}

interface DescribedRow {
  readonly row: ValueRow | TableRow
  /** The keys of its table have their defaults there; in the table of an agent, they are those of the file. */
  readonly hasDefaults: boolean
}

/** A schema in the form that editors know, with the texts and defaults of rows. */
function described(schema: Json, of: DescribedRow): JsonObject {
  if (!isJsonObject(schema)) return {}
  const { const: only, properties, additionalProperties: rest, items, anyOf, ...others } = schema
  return {
    ...(only === undefined ? {} : { enum: [only] }),
    ...others,
    ...(isJsonObject(properties) ? { properties: describedTable(properties, of) } : {}),
    ...(rest === undefined ? {} : { additionalProperties: isJsonObject(rest) ? described(rest, of) : rest }),
    ...(items === undefined ? {} : { items: described(items, of) }),
    ...(Array.isArray(anyOf) ? { anyOf: (anyOf as readonly Json[]).map((item) => described(item, of)) } : {}),
  }
}

function describedTable(properties: JsonObject, { row: table, hasDefaults }: DescribedRow): JsonObject {
  const rowOf = (key: string): ValueRow | TableRow | undefined =>
    ('keys' in table ? table.keys[key] : undefined) ?? reserved.get(key)
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]): [string, Json] => {
      const row = rowOf(key)
      if (row === undefined) throw new Error(`no row describes ${key}`)
      const initial = hasDefaults ? row.initial : undefined
      const inner = described(schema, { row, hasDefaults: false })
      return [key, { description: row.text, ...inner, ...defined({ default: initial }) }]
    }),
  )
}
