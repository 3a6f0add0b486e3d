import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { resolveAlias, splitEffort } from '../../src/model/alias.ts'
import type { ModelChoice, ModelSources } from '../../src/model/choice.ts'
import { selectModel } from '../../src/model/select.ts'

function sources(given: Partial<ModelSources> = {}): ModelSources {
  return { env: {}, providers: {}, aliases: {}, ...given }
}

function select(name: string | undefined, given: Partial<ModelSources> = {}): ModelChoice {
  return selectModel(name, sources(given))
}

/** Where a choice leads, in one line. */
function shown({ provider, label, reasoningEffort }: ModelChoice): string {
  const where =
    provider.kind === 'offline'
      ? 'offline'
      : `${provider.baseUrl} ${provider.apiKeyEnv}${provider.keyRequired ? '!' : ''}`
  return [label, where, ...(reasoningEffort === undefined ? [] : [reasoningEffort])].join(' | ')
}

const groq = { base_url: 'https://groq.test/v1', api_key_env: 'GROQ_KEY', default_model: 'llama' }
const official = 'https://api.openai.com/v1 OPENAI_API_KEY!'

describe('aliases', () => {
  const aliases = { x: 'target', fast: 'gpt-5-mini-low', loop: 'fast' }

  it.each([
    ['x', 'target'],
    ['x-high', 'target-high'],
    ['y-high', 'y-high'],
    ['y', 'y'],
    ['loop', 'fast'],
    ['constructor', 'constructor'],
    ['toString-high', 'toString-high'],
  ])('%s stands for %s', (name, target) => {
    expect(resolveAlias(name, aliases)).toBe(target)
  })

  it('are looked up before anything else', () => {
    expect(shown(select('fast', { aliases }))).toBe(`openai::gpt-5-mini | ${official} | low`)
  })
})

describe('an effort at the end of a name', () => {
  it.each([
    ['gpt-5-high', 'gpt-5', 'high'],
    ['gpt-5-zero', 'gpt-5', 'none'],
    ['o3-xhigh', 'o3', 'xhigh'],
    ['gpt-5-mini', 'gpt-5-mini', undefined],
    ['deepseek-r1-zero', 'deepseek-r1-zero', undefined],
    ['vendor/qwen3.8-max', 'vendor/qwen3.8-max', undefined],
    ['-high', '-high', undefined],
    ['high', 'high', undefined],
  ])('%s is %s with %s', (name, model, reasoningEffort) => {
    expect(splitEffort(name)).toEqual(reasoningEffort === undefined ? { model } : { model, reasoningEffort })
  })
})

describe('a named model', () => {
  it.each([
    ['gpt-5', {}, `openai::gpt-5 | ${official}`],
    ['o3', {}, `openai::o3 | ${official}`],
    ['openai::anything', {}, `openai::anything | ${official}`],
    ['openai::', {}, `openai::gpt-5-mini | ${official}`],
    ['claude', { OPENAI_API_KEY: 'k' }, `openai::claude | ${official}`],
    ['llama', { OPENAI_BASE_URL: 'http://here/v1' }, 'openai::llama | http://here/v1 OPENAI_API_KEY'],
    ['groq::llama-high', {}, 'groq::llama | https://groq.test/v1 GROQ_KEY! | high'],
    ['groq::', {}, 'groq::llama | https://groq.test/v1 GROQ_KEY!'],
    ['offline::extractive', { OPENAI_API_KEY: 'k' }, 'offline::extractive | offline'],
  ])('%s with %j leads to %s', (name, env, expected) => {
    expect(shown(select(name, { env, providers: { groq } }))).toBe(expected)
  })

  it('goes to the gateway as it is, whatever provider it names', () => {
    const env = { BATON_GATEWAY_URL: 'https://gate/v1', OPENAI_API_KEY: 'k' }
    expect(shown(select('openai::gpt-5-high', { env }))).toBe(
      'gateway::openai::gpt-5 | https://gate/v1 BATON_GATEWAY_KEY | high',
    )
    expect(shown(select('offline::extractive', { env }))).toBe('offline::extractive | offline')
  })

  it('goes to a configured gateway with the key that belongs to it, and to the one of the environment without it', () => {
    const gateway = { base_url: 'https://mine/v1', api_key_env: 'MINE', headers: { a: 'b' } }
    expect(shown(select('m', { gateway }))).toBe('gateway::m | https://mine/v1 MINE!')
    const other = select('m', { gateway, env: { BATON_GATEWAY_URL: 'https://gate/v1' } })
    expect(other.provider).toMatchObject({ baseUrl: 'https://gate/v1', apiKeyEnv: 'BATON_GATEWAY_KEY', headers: {} })
  })

  it('goes to a configured openai, unless the environment has a base URL', () => {
    const providers = { openai: { base_url: 'https://mine/v1', api_key_env: 'MINE' } }
    expect(shown(select('m', { providers }))).toBe('openai::m | https://mine/v1 MINE!')
    expect(shown(select('m', { providers, env: { OPENAI_BASE_URL: 'http://here/v1' } }))).toBe(
      'openai::m | http://here/v1 OPENAI_API_KEY',
    )
  })

  it.each(['llama3', 'gpt-oss:20b', 'nobody::m', 'offline::other', 'constructor::m'])(
    '%s is an error that lists what is available when nobody takes it',
    (name) => {
      const call = (): ModelChoice => select(name, { providers: { groq }, aliases: { fast: 'x' } })
      expect(call).toThrow(`unknown model "${name}"`)
      try {
        call()
      } catch (error) {
        expect(error).toBeInstanceOf(BatonError)
        expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
        expect((error as BatonError).hint).toContain('groq::NAME; openai::NAME; offline::extractive; the aliases fast')
      }
    },
  )

  it('that an alias stands for is named in the error', () => {
    expect(() => select('fast', { aliases: { fast: 'nope' } })).toThrow(
      'unknown model "fast" (which stands for "nope")',
    )
  })
})

describe('no model named anywhere', () => {
  it.each([
    [{ OPENAI_API_KEY: 'k' }, {}, `openai::gpt-5-mini | ${official}`],
    [{ OPENAI_API_KEY: 'k', GROQ_KEY: 'g' }, { groq }, `openai::gpt-5-mini | ${official}`],
    [{ OPENAI_API_KEY: '  ', GROQ_KEY: 'g' }, { groq }, 'groq::llama | https://groq.test/v1 GROQ_KEY!'],
    [{}, { groq }, 'offline::extractive | offline'],
  ])('with %j and %j leads to the first default whose key is there', (env, providers, expected) => {
    expect(shown(select(undefined, { env, providers }))).toBe(expected)
  })

  it('leads to the offline model with one line that says so and how to get a real one', () => {
    const { notice } = select('')
    expect(notice).toContain('no model is configured')
    for (const way of ['-m', 'OPENAI_API_KEY', 'BATON_GATEWAY_URL']) expect(notice).toContain(way)
    expect(notice).not.toContain('\n')
    expect(select('offline::extractive')).not.toHaveProperty('notice')
  })

  it.each([{ OPENAI_BASE_URL: 'http://here/v1' }, { BATON_GATEWAY_URL: 'https://gate/v1' }])(
    'is an error that names -m when %j gives an endpoint without a default',
    (env) => {
      expect(() => select(undefined, { env })).toThrow(/^no model is named/)
      try {
        select(undefined, { env })
      } catch (error) {
        expect((error as BatonError).hint).toContain('-m')
      }
    },
  )

  it('leads to the default of a configured gateway', () => {
    const gateway = { base_url: 'https://mine/v1', default_model: 'fast' }
    expect(shown(select(undefined, { gateway, aliases: { fast: 'real-low' } }))).toBe(
      'gateway::real | https://mine/v1 BATON_GATEWAY_KEY | low',
    )
  })
})
