import { z } from 'zod'
import { pathText, type DataPath } from '../base/data-text.ts'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { nearest } from '../base/suggest.ts'
import {
  address,
  duration,
  flag,
  integer,
  listOf,
  name,
  number,
  oneOf,
  table,
  tableOf,
  text,
  texts,
  timeLimit,
  variableName,
} from './expect.ts'
import { describeValue } from './describe.ts'
import type { Finding } from './issue.ts'
import type { ReservedKey } from './keys.ts'
import { strategySchemas } from './schema-strategies.ts'
import { testSchema } from './schema-test.ts'

const globs = listOf(name, 'a list of globs')
const groups = listOf(
  z.union([name, listOf(name)], { error: 'a glob or a list of globs' }),
  'a list of globs and of lists of globs',
)
/** An endpoint of the user's own. `base_url` is what comes before the path of its wire format. */
const provider = z.strictObject(
  {
    base_url: address,
    format: oneOf('chat', 'responses', 'anthropic', 'gemini').exactOptional(),
    api_key_env: variableName.exactOptional(),
    default_model: name.exactOptional(),
  },
  { error: 'a table' },
)

/** Keys that settings are made of: each may come from any layer that is allowed to set it. */
const settingShape = {
  model: name,
  model_aliases: tableOf(name),
  temperature: number(0, 2),
  top_p: number(0, 1),
  max_tokens: integer(1),
  reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  seed: integer(),
  input_concurrency: integer(1, 1000),
  base_dir: text,
  context_globs_pre: globs,
  context_globs: globs,
  context_globs_post: globs,
  knowledge_globs_pre: globs,
  knowledge_globs: globs,
  knowledge_globs_post: globs,
  structure_globs_pre: globs,
  structure_globs: globs,
  structure_globs_post: globs,
  working_globs_pre: groups,
  working_globs: groups,
  working_globs_post: groups,
  max_files_size_kb: integer(1),
  allow_run_on_task_fail: flag,
  write_mode: flag,
  partial: flag,
  file_content_mode: oneOf('udiffx', 'whole', 'search_replace_auto'),
  fallback_models: listOf(name, 'a list of models'),
  reasoning_summary: oneOf('none', 'auto', 'concise', 'detailed'),
  agent: name,
  template: flag,
  output: table({
    schema: z.union([name, tableOf(z.unknown())], { error: 'a table or the name of a file' }),
  }),
  retry: table({
    max_attempts: integer(1, 100),
    initial_backoff_ms: integer(0),
    max_backoff_ms: integer(0),
    backoff_multiplier: number(1, 100),
    jitter_factor: number(0, 1),
    patience: duration,
  }),
  timeouts: table({ connect: timeLimit, headers: timeLimit, stream_idle: timeLimit, request: timeLimit }),
  budget: table({
    usd: number(0, 1e9),
    tokens: integer(1),
    calls: integer(1),
    unpriced: oneOf('deny', 'allow'),
  }),
  lua: table({
    engine: oneOf('lua54', 'fengari'),
    isolated: z.union([z.boolean(), z.literal('installed')], { error: 'true, false or "installed"' }),
    timeout: duration,
    memory_mb: integer(1, 4096),
    instructions: integer(1),
  }),
  runs: table({ dir: name, keep: duration }),
  secrets: listOf(variableName, 'a list of names of environment variables'),
  providers: tableOf(provider),
  gateway: provider,
} as const

const settings = z.object(settingShape).exactPartial()

/** What layers hold once they were checked: every key in the type its schema says. */
export type SettingValues = z.infer<typeof settings>

/** The schema of every reserved top-level key (DESIGN 4), also of those that this version does not act on. */
export const schemas: { readonly [key in ReservedKey]: z.ZodType } = {
  ...settingShape,
  ...strategySchemas,
  name,
  description: text,
  params: tableOf(z.unknown()),
  input: tableOf(
    table({
      type: oneOf('string', 'number', 'integer', 'boolean', 'list', 'table'),
      default: z.unknown(),
      required: flag,
      description: text,
      enum: listOf(z.unknown()),
    }),
  ),
  sub_agents: listOf(z.unknown()),
  test: testSchema,
  mode: name,
  max_rounds: integer(1),
  max_turns: integer(1),
  timeout: duration,
  instructions: z.union([z.literal('auto'), z.literal(false), texts], { error: '"auto", false or a list of paths' }),
}

/** What is wrong with the value of a reserved key: types, ranges, and unknown keys in tables. */
export function checkValue(key: ReservedKey, value: Json): readonly Finding[] {
  const result = schemas[key].safeParse(value)
  if (result.success) return []
  const findings = result.error.issues.flatMap((issue) => readIssue(issue, [key], { [key]: value }))
  // one value can break several rules that are said by the same sentence
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()]
}

function readIssue(issue: z.core.$ZodIssue, prefix: DataPath, data: JsonObject): readonly Finding[] {
  const path = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
  if (issue.code === 'unrecognized_keys') return issue.keys.map((unknown) => unknownKey([...path, unknown]))
  // when a value has the shape of one alternative, what is wrong inside it says more
  const inside = issue.code === 'invalid_union' ? issue.errors.find(isInside) : undefined
  if (inside !== undefined) return inside.flatMap((inner) => readIssue(inner, path, data))
  return [wrongValue(path, issue.message, valueAt(data, path))]
}

function isInside(issues: readonly z.core.$ZodIssue[]): boolean {
  return issues.length > 0 && issues.every(({ path }) => path.length > 0)
}

function unknownKey(path: DataPath): Finding {
  const written = String(path.at(-1))
  const isKey = /key|token|secret|password/i.test(written)
  const known = knownKeys(path.slice(0, -1))
  const similar = nearest(written, known)
  const table = pathText(path.slice(0, -1))
  const hint = similar === undefined ? `Known keys of ${table}: ${known.join(', ')}.` : `Did you mean "${similar}"?`
  return {
    code: 'CONFIG_INVALID',
    message: `unknown key "${written}" in ${table}`,
    hint: isKey ? 'Keys come from the environment only: put the name of the variable into api_key_env.' : hint,
    path,
    part: 'key',
    ...(isKey ? { isSecret: true } : {}),
  }
}

/** The keys a table at this path may have, read from the schema. */
function knownKeys(path: DataPath): readonly string[] {
  let schema: unknown = schemas[String(path[0]) as ReservedKey]
  for (const step of path.slice(1)) schema = innerSchema(schema, step)
  const found = unwrapped(schema)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : []
}

function innerSchema(schema: unknown, step: string | number): unknown {
  const outer = unwrapped(schema)
  if (outer instanceof z.ZodObject) return (outer.shape as Readonly<Record<string, unknown>>)[String(step)]
  if (outer instanceof z.ZodRecord) return outer.valueType
  if (outer instanceof z.ZodArray) return outer.element
  return undefined
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodExactOptional ? schema.unwrap() : schema
}

function wrongValue(path: DataPath, expected: string, value: Json | undefined): Finding {
  const isSecret = path.includes('api_key_env') || path.includes('secrets') || path.includes('base_url')
  const found = isSecret ? '' : `, not ${describeValue(value)}`
  const message =
    value === undefined ? `"${pathText(path)}" is missing` : `"${pathText(path)}" must be ${expected}${found}`
  return {
    code: 'CONFIG_INVALID',
    message,
    hint: value === undefined ? `Add it: ${expected}.` : `Write ${expected}.`,
    path,
    part: 'value',
    ...(isSecret ? { isSecret: true } : {}),
  }
}

function valueAt(value: Json, path: DataPath): Json | undefined {
  let inner: Json | undefined = value
  for (const step of path) {
    if (Array.isArray(inner) && typeof step === 'number') inner = (inner as readonly Json[])[step]
    else if (isObject(inner) && Object.hasOwn(inner, step)) inner = inner[step]
    else return undefined
  }
  return inner
}
