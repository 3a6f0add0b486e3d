import { describe, expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const config = `
[providers.lab]
base_url = "http://127.0.0.1:9/v1"
api_key_env = "LAB_KEY"
default_model = "lab-large"

[model_aliases]
mine = "lab::lab-large"
cheap = "luna"

[prices]
"lab-large" = { input = 1.25, output = 10 }
"openai::gpt-6-luna" = { input = 7, output = 8, cached = 0.5 }
`
const cwd = tempTree({ 'home/config/config.toml': config, 'work/baton.toml': '' })
const around = { cwd: `${cwd}/work`, env: { BATON_HOME: `${cwd}/home`, LAB_KEY: 'value-of-the-key', OPENAI_API_KEY: '' } }

interface Row {
  readonly label: string
  readonly [field: string]: unknown
}

async function rowsOf(...words: readonly string[]): Promise<readonly Row[]> {
  const { code, stdout, stderr } = await baton(['models', ...words, '--json'], around)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('value-of-the-key')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
}

describe('baton models', () => {
  it('lists each model of a short name once, with its names, prices, window and key', async () => {
    const [source, ...rows] = await rowsOf()
    expect(source).toMatchObject({ kind: 'prices', package: '@pydantic/genai-prices' })
    expect(new Set(rows.map(({ label }) => label)).size).toBe(rows.length)
    expect(rows.find(({ label }) => label === 'anthropic::claude-fable-5-2')).toEqual({
      kind: 'model',
      label: 'anthropic::claude-fable-5-2',
      provider: 'anthropic',
      model: 'claude-fable-5-2',
      names: ['fable'],
      input: 8,
      cached: 0.2,
      output: 40,
      window: 1_000_000,
      key: 'ANTHROPIC_API_KEY',
      key_set: false,
    })
  })

  it('knows the providers, aliases and prices of the user’s config', async () => {
    const rows = await rowsOf()
    expect(rows.find(({ label }) => label === 'lab::lab-large')).toMatchObject({
      names: ['normal', 'high', 'fast', 'mine'],
      input: 1.25,
      cached: 1.25,
      window: null,
      key: 'LAB_KEY',
      key_set: true,
    })
    expect(rows.find(({ label }) => label === 'openai::gpt-6-luna')).toMatchObject({ input: 7, cached: 0.5, output: 8 })
  })

  it('lists every known model that contains a word, and those without a price only if they have a name', async () => {
    const labels = (await rowsOf('GPT-5')).slice(1).map(({ label }) => label)
    expect(labels).toContain('openai::gpt-5-mini')
    expect(labels.filter((label) => !label.includes('gpt-5'))).toEqual([])
    expect((await rowsOf('glm-5.3')).find(({ label }) => label === 'together::zai-org/GLM-5.3')).toMatchObject({
      input: null,
    })
  })

  it('ends with exit code 2 and the nearest name if nothing contains the word', async () => {
    const { code, stdout, stderr } = await baton(['models', 'sonnett'], around)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'error: no known model contains "sonnett"\nhint: Did you mean "sonnet"? baton models lists the models that have a short name.\n',
    )
  })
})
