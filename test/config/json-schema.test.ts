import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject } from '../../src/base/json.ts'
import { checkFrontMatter } from '../../src/config/front-matter.ts'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { isGuarded, isReserved, reserved, unavailableIn } from '../../src/settings/keys.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

const schemas = { prompt: configJsonSchema('prompt'), config: configJsonSchema('config') }
const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true, discriminator: false })
const fits = { prompt: ajv.compile(schemas.prompt), config: ajv.compile(schemas.config) }

async function front(toml: string): Promise<{ readonly data: JsonObject; readonly issues: readonly string[] }> {
  const document = await parsePrompt('ask.md', `+++\n${toml}\n+++\nAsk.\n`)
  const { issues } = await checkFrontMatter(document, { userFile: 'config.toml' })
  return { data: document.meta.data, issues: issues.map(({ message }) => message) }
}

const right = [
  'model = "fast"\ntemperature = 0.2\nseed = -3',
  'context_globs = ["a/*.ts", "!b"]\nworking_globs = ["a.md", ["b.md", "c.md"]]',
  'sub_agents = ["lint", { name = "ns@pack/x", stage = ["pre", "post"], merge = "deep", globs = ["*"] }]',
  'tone = "a parameter"\n[params]\nanything = [1, { deep = true }]',
  'mode = "classic"\ninstructions = false',
  'output.schema = "answer.json"',
  '[output.schema]\ntype = "object"',
  '[retry]\nmax_attempts = 5\npatience = "10m"\n[timeouts]\nheaders = "1.5s"',
  '[budget]\nusd = 0.5\nunpriced = "allow"',
  '[lua]\nengine = "fengari"\nisolated = true',
]

const wrong = [
  'model = 3',
  'model = ""',
  'temperature = 3',
  'input_concurrency = 0',
  'max_tokens = 1.5',
  'context_globs = "src"',
  'working_globs = [1]',
  'sub_agents = "lint"',
  'sub_agents = [{ stage = "pre" }]',
  'sub_agents = [{ name = "lint", stage = "before" }]',
  'sub_agents = [{ name = "lint", stage = [] }]',
  'sub_agents = [{ name = "lint", merge = "join" }]',
  'sub_agents = [{ name = "lint", on = "pre" }]',
  'sub_agents = [" "]',
  '[code]\nauto_approve = "yes"',
  'instructions = "auto"',
  'params = 3',
  '[output]\nschemas = {}',
  '[retry]\npatience = "soon"',
  '[timeouts]\nheadres = "3s"',
  '[lua]\nengine = "luajit"',
  '[runs]\nkeep = "three days"',
  'secrets = ["a key"]',
]

describe('the schema of the front matter', () => {
  it.each(right)('accepts what a run accepts: %j', async (toml) => {
    const { data, issues } = await front(toml)
    expect(issues).toEqual([])
    expect(fits.prompt(data), JSON.stringify(fits.prompt.errors)).toBe(true)
  })

  it.each(wrong)('refuses what a run refuses: %j', async (toml) => {
    const { data, issues } = await front(toml)
    expect(issues).not.toEqual([])
    expect(fits.prompt(data)).toBe(false)
  })

  it('contains every key that can be set there in this version, and no others', () => {
    const keys = [...reserved].filter(([key]) => isReserved(key) && !isGuarded(key)).map(([key]) => key)
    expect(Object.keys(propertiesOf(schemas.prompt)).toSorted()).toEqual(keys.toSorted())
  })

  it('suggests the names of tools, and accepts patterns and tools of servers', () => {
    const schema = configJsonSchema('prompt', { tools: ['read', 'edit'] })
    expect(propertiesOf(schema)['tools']).toMatchObject({
      items: { anyOf: [{ enum: ['read', 'edit'] }, { type: 'string' }] },
    })
    const takes = ajv.compile(schema)
    expect(takes({ tools: ['read', 'web*', 'docs__search'], disallowed_tools: ['*'] })).toBe(true)
    expect(takes({ tools: [3] })).toBe(false)
  })

  it('contains valid defaults', () => {
    const { input_concurrency, timeouts } = propertiesOf(schemas.prompt)
    expect(input_concurrency).toMatchObject({ default: 2 })
    expect(timeouts).toMatchObject({ properties: { connect: { default: '10s' } } })
  })
})

describe('the schema of config files', () => {
  it('refuses keys of prompt files, and unknown ones', () => {
    expect(fits.config({ model: 'fast', providers: { own: { base_url: 'http://127.0.0.1:1/v1' } } })).toBe(true)
    for (const data of [{ sub_agents: [] }, { modle: 'fast' }, { providers: { own: {} } }, { name: 'x' }]) {
      expect(fits.config(data), JSON.stringify(data)).toBe(false)
    }
    expect(fits.config({ providers: { own: { base_url: 'ftp://host' } } })).toBe(false)
  })
})

it.each(Object.entries(schemas))('describes every key: %s', (_, schema) => {
  expect(withoutDescription(schema, '')).toEqual([])
})

it.each(Object.entries(schemas))('uses only what old language servers know: %s', (_, schema) => {
  const text = JSON.stringify(schema)
  expect(text).not.toMatch(/"(?:const|propertyNames|if|contains|\$defs|prefixItems)":/)
  expect(text.replaceAll('"additionalProperties":', '').replaceAll('"default":', '')).not.toMatch(/":(?:true|false)\b/)
})

it('allows the values of a key that this version supports', () => {
  for (const [key, value, other] of [['instructions', false, 'auto']] as const) {
    expect(unavailableIn(key, value), key).toBeUndefined()
    expect(unavailableIn(key, other), key).toBeDefined()
    expect([fits.prompt({ [key]: value }), fits.prompt({ [key]: other })], key).toEqual([true, false])
  }
})

function propertiesOf(schema: JsonObject): JsonObject {
  return isJsonObject(schema['properties']) ? schema['properties'] : {}
}

/** Paths of the keys of all tables in a schema that have no description. */
function withoutDescription(schema: Json, path: string): readonly string[] {
  if (Array.isArray(schema)) return (schema as readonly Json[]).flatMap((item) => withoutDescription(item, path))
  if (!isJsonObject(schema)) return []
  const own = Object.entries(propertiesOf(schema)).filter(
    ([, property]) => isJsonObject(property) && typeof property['description'] !== 'string',
  )
  const inner = Object.entries(schema).flatMap(([keyword, value]) =>
    keyword === 'properties' && isJsonObject(value)
      ? Object.entries(value).flatMap(([key, property]) => withoutDescription(property, `${path}.${key}`))
      : withoutDescription(value, path),
  )
  return [...own.map(([key]) => `${path}.${key}`), ...inner]
}
