import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { chooseModelFor } from '../../src/model/select.ts'
import type { ModelChoice, ModelSources } from '../../src/model/choice.ts'
import type { HostModel } from '../../src/model/local.ts'
import { choiceFor, modelTable, shown } from '../helpers/choice.ts'

const openai = 'responses https://api.openai.com/v1 OPENAI_API_KEY!'
const lab = { base_url: 'https://lab.test/v1', api_key_env: 'LAB_KEY', default_model: 'llama' }

interface Given extends Partial<ModelSources> {
  /** The result of a search on this machine. */
  readonly local?: HostModel
  readonly isAttended?: boolean
}

async function choose(
  name: string | undefined,
  { local, isAttended = true, ...given }: Given = {},
): Promise<ModelChoice> {
  const sources = { env: {}, providers: {}, aliases: {}, ...given }
  return chooseModelFor(name, sources, {
    loadTable: () => Promise.resolve(modelTable),
    findLocal: () => Promise.resolve(local),
    isAttended,
  })
}

async function errorOf(name: string | undefined, given: Given = {}): Promise<BatonError> {
  const error: unknown = await choose(name, given).catch((thrown: unknown) => thrown)
  if (error instanceof BatonError) return error
  throw new Error('it was chosen')
}

function local(model: string): HostModel {
  const { provider } = choiceFor('ollama::x')
  if (provider.kind === 'offline') throw new Error('ollama is a host')
  return { provider, model }
}

describe('the default model', () => {
  it.each([
    [{ OPENAI_API_KEY: 'k' }, {}, `openai::gpt-6.2-sol | ${openai}`],
    [{ OPENAI_API_KEY: 'k', LAB_KEY: 'l' }, { lab }, `openai::gpt-6.2-sol | ${openai}`],
    [{ OPENAI_API_KEY: '  ', LAB_KEY: 'l' }, { lab }, 'lab::llama | chat https://lab.test/v1 LAB_KEY!'],
    [{}, { lab: { base_url: 'http://lab/v1', default_model: 'm' } }, 'lab::m | chat http://lab/v1 undefined'],
    [
      { GROQ_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' },
      {},
      'anthropic::claude-sonnet-5-5 | anthropic https://api.anthropic.com/v1 ANTHROPIC_API_KEY!',
    ],
    [
      { GOOGLE_API_KEY: 'k' },
      {},
      'gemini::gemini-4-hydrogen | gemini https://generativelanguage.googleapis.com/v1beta GOOGLE_API_KEY!',
    ],
    [
      { OPENAI_API_KEY: 'k' },
      { openai: { ...lab, api_key_env: 'OPENAI_API_KEY' } },
      'openai::llama | chat https://lab.test/v1 OPENAI_API_KEY!',
    ],
    [{}, { lab }, 'offline::extractive | offline'],
  ])('with %j and %j is the first default with a key', async (env, providers, expected) => {
    expect(shown(await choose(undefined, { env, providers }))).toBe(expected)
  })

  it('is searched on a local server only when no key decides, and the result is reported', async () => {
    const found = local('llama3:8b')
    const choice = await choose(undefined, { local: found })
    expect(choice).toEqual({
      provider: found.provider,
      model: 'llama3:8b',
      label: 'ollama::llama3:8b',
      notice: 'no model is configured: using ollama::llama3:8b on 127.0.0.1:11434',
    })
    const keyed = await choose('', { local: found, env: { GROQ_API_KEY: 'k' } })
    expect(keyed.label).toBe('groq::openai/gpt-oss-120b')
    expect(keyed).not.toHaveProperty('notice')
  })

  it('is the offline model with one line that says so and how to get a real one', async () => {
    const { notice = '' } = await choose('')
    expect(notice).toContain('no model is configured')
    for (const way of ['-m', 'OPENAI_API_KEY', 'Ollama', 'BATON_GATEWAY_URL']) expect(notice).toContain(way)
    expect(notice).not.toContain('\n')
    expect(await choose('offline::extractive')).not.toHaveProperty('notice')
  })

  it.each([{ OPENAI_BASE_URL: 'http://here/v1' }, { BATON_GATEWAY_URL: 'https://gate/v1' }])(
    'is an error that mentions -m when %j sets an endpoint without a default',
    async (env) => {
      const { message, hint } = await errorOf(undefined, { env, local: local('m') })
      expect(message).toMatch(/^no model is named/)
      expect(hint).toContain('-m')
    },
  )

  it('is the default of a configured gateway', async () => {
    const gateway = { base_url: 'https://mine/v1', default_model: 'small' }
    expect(shown(await choose(undefined, { gateway, aliases: { small: 'real-low' } }))).toBe(
      'gateway::real-low | chat https://mine/v1 BATON_GATEWAY_KEY',
    )
  })

  it('is the default of a configured gateway, also if the environment names its address', async () => {
    const gateway = { base_url: 'https://mine/v1', default_model: 'small' }
    const env = { BATON_GATEWAY_URL: 'https://other/v1' }
    expect((await choose(undefined, { gateway, env })).label).toBe('gateway::small')
  })
})

describe('normal, high and fast', () => {
  it.each([
    ['normal', 'anthropic::claude-sonnet-5-5', undefined],
    ['high', 'anthropic::claude-opus-5-5', undefined],
    ['fast', 'anthropic::claude-haiku-5-5', undefined],
    ['fast-high', 'anthropic::claude-haiku-5-5', 'high'],
    ['mine', 'anthropic::claude-opus-5-5', 'low'],
  ])('%s is a model of the provider whose key is set: %s', async (name, label, reasoningEffort) => {
    const given = { env: { ANTHROPIC_API_KEY: 'k', XAI_API_KEY: 'k' }, aliases: { mine: 'high-low' } }
    const choice = await choose(name, given)
    expect([choice.label, choice.reasoningEffort]).toEqual([label, reasoningEffort])
  })

  it('are the configured ones first of all', async () => {
    const env = { ANTHROPIC_API_KEY: 'k' }
    expect((await choose('fast', { env, aliases: { fast: 'gpt-5-mini' } })).label).toBe('openai::gpt-5-mini')
  })

  it.each(['normal', 'high', 'fast'])('are all the only model of a provider in the config: %s', async (name) => {
    expect((await choose(name, { env: { LAB_KEY: 'k' }, providers: { lab } })).label).toBe('lab::llama')
    const gateway = { base_url: 'https://mine/v1', default_model: 'only' }
    expect((await choose(name, { gateway })).label).toBe('gateway::only')
  })

  it('are the model of a local server when there is no key', async () => {
    const choice = await choose('high-low', { local: local('tiny-max') })
    expect([choice.label, choice.reasoningEffort]).toEqual(['ollama::tiny-max', 'low'])
    expect(choice).not.toHaveProperty('notice')
  })

  it('are an error that names keys when nothing is available, and never the offline model', async () => {
    const { code, message, hint } = await errorOf('fast-low')
    expect([code, message]).toEqual([
      'CONFIG_INVALID',
      'there is no model for "fast-low": no key is set and no local server answers',
    ])
    for (const way of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'Ollama', 'model_aliases']) expect(hint).toContain(way)
  })

  it('are an error at an unknown endpoint', async () => {
    const { message } = await errorOf('high', { env: { OPENAI_BASE_URL: 'http://here/v1' } })
    expect(message).toBe('there is no model for "high" at the endpoint of OPENAI_BASE_URL')
  })
})

it('a missing model is an error in non-interactive use, unless the offline model is named', async () => {
  const error = await errorOf(undefined, { isAttended: false })
  expect(error).toMatchObject({ code: 'KEY_MISSING' })
  expect(error.message).toContain('no model is configured')
  expect(error.hint).toContain('model = "offline::extractive"')
  const aliases = { mine: 'offline::extractive' }
  for (const name of ['offline::extractive', 'mine']) {
    expect(shown(await choose(name, { isAttended: false, aliases }))).toBe('offline::extractive | offline')
  }
  const found = await choose(undefined, { isAttended: false, local: local('qwen3') })
  expect(found.label).toBe('ollama::qwen3')
})
