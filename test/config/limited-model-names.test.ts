import { expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { limitedModelNames } from '../../src/config/limited-model-names.ts'
import type { Layer, SourcedValue } from '../../src/config/layers.ts'

const layer: Layer = { origin: { kind: 'user', file: 'config.toml' }, values: {} }

function own(path: readonly string[], value: Json): SourcedValue {
  return { path, value, layer }
}

/** What aliases with these names are pinned to. */
async function held(names: readonly string[], mine: readonly SourcedValue[] = []) {
  const aliases = Object.fromEntries(names.map((name) => [name, 'x']))
  const found = await limitedModelNames({ model_aliases: aliases }, mine)
  return Object.fromEntries(found.map(({ path, value }) => [path[1], value]))
}

it('restricts aliases of a folder to the aliases that everybody has, with and without an effort word', async () => {
  expect(await held(['normal', 'haiku-low'])).toEqual({
    normal: 'the model of the provider',
    haiku: expect.stringContaining('claude-haiku'),
  })
})

it.each([
  'gpt-5-mini',
  'o3',
  'ft:gpt-4o:me',
  'claude-3-opus-20240229',
  'gemini-2.5-pro',
  'llama3:8b',
  'groq::llama',
  'openai/gpt-5',
  'offline::extractive',
  // only in the installed table
  'gpt-oss-120b',
])('restricts them to %s, which a provider accepts as its own model', async (name) => {
  expect(await held([name])).toEqual({ [name]: name })
})

it('restricts them to models that the config of the user names', async () => {
  const mine = [
    own(['model'], 'house'),
    own(['fallback_models'], ['spare']),
    own(['providers', 'lab'], { base_url: 'https://lab.example/v1', default_model: 'lab-large' }),
    own(['gateway'], { base_url: 'https://gateway.example/v1', default_model: 'main' }),
    own(['model_aliases', 'review'], 'lab::careful'),
  ]
  const names = ['house', 'spare-high', 'lab-large', 'main', 'careful']
  expect(Object.keys(await held(names, mine))).toEqual(['house', 'spare', 'lab-large', 'main', 'careful'])
  expect(await held(names)).toEqual({})
})

it('leaves new names to the folder, and does not change aliases of the user', async () => {
  expect(await held(['cheap', 'team-writer'])).toEqual({})
  expect(await held(['gpt-5'], [own(['model_aliases', 'gpt-5'], 'lab::x')])).toEqual({})
  expect(await limitedModelNames({ model: 'x' }, [])).toEqual([])
})
