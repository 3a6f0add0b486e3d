import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { ModelSources } from '../../src/model/choice.ts'
import { choiceFor, shown } from '../helpers/choice.ts'

const labSettings = { base_url: 'https://lab.test/v1', api_key_env: 'LAB_KEY', default_model: 'llama' }
const lab = { lab: labSettings }
const openai = 'responses https://api.openai.com/v1 OPENAI_API_KEY!'
const anthropic = 'anthropic https://api.anthropic.com/v1 ANTHROPIC_API_KEY!'
const openrouter = 'chat https://openrouter.ai/api/v1 OPENROUTER_API_KEY!'
const ollama = 'chat http://127.0.0.1:11434/v1 undefined'

function errorOf(name: string, given: Partial<ModelSources> = {}): BatonError {
  try {
    choiceFor(name, given)
  } catch (error) {
    if (error instanceof BatonError) return error
    throw error
  }
  throw new Error(`${name} is taken`)
}

describe('a bare name', () => {
  it.each([
    ['gpt-5', openai],
    ['gpt-6.2-sol', openai],
    ['chatgpt-4o-latest', openai],
    ['codex-mini', openai],
    ['o3', openai],
    ['o4-mini', openai],
    ['ft:gpt-4o:lab', openai],
    ['claude-opus-5-5', anthropic],
    ['gemini-4-carbon', 'gemini https://generativelanguage.googleapis.com/v1beta GEMINI_API_KEY!'],
    ['deepseek-v4-pro', 'chat https://api.deepseek.com DEEPSEEK_API_KEY!'],
    ['grok-4.7', 'chat https://api.x.ai/v1 XAI_API_KEY!'],
    ['codestral-2508', 'chat https://api.mistral.ai/v1 MISTRAL_API_KEY!'],
    ['kimi-k3.1-pro', 'chat https://api.moonshot.ai/v1 MOONSHOT_API_KEY!'],
    ['glm-5.3', 'chat https://api.z.ai/api/paas/v4 ZAI_API_KEY!'],
    ['llama3.3:70b', ollama],
    ['gpt-oss:20b', ollama],
    ['mistral:7b', ollama],
    ['deepseek-r1:8b', ollama],
  ])('%s selects its own provider: %s', (name, expected) => {
    const choice = choiceFor(name)
    expect(shown(choice).split(' | ')[1]).toBe(expected)
    expect(choice.model).toBe(name)
  })

  it('selects an endpoint configured for OpenAI, unless its own provider is available', () => {
    const env = { OPENAI_BASE_URL: 'http://here/v1' }
    const here = 'chat http://here/v1 OPENAI_API_KEY'
    expect(shown(choiceFor('llama', { env }))).toBe(`openai::llama | ${here}`)
    expect(shown(choiceFor('claude-x', { env }))).toBe(`openai::claude-x | ${here}`)
    expect(shown(choiceFor('llama3:8b', { env }))).toBe(`openai::llama3:8b | ${here}`)
    const both = { ...env, ANTHROPIC_API_KEY: 'k' }
    expect(shown(choiceFor('claude-x', { env: both }))).toBe(`anthropic::claude-x | ${anthropic}`)
  })

  it('that is unknown selects OpenAI if its key is set', () => {
    expect(shown(choiceFor('newest', { env: { OPENAI_API_KEY: 'k' } }))).toBe(`openai::newest | ${openai}`)
  })
})

describe('a name with its provider', () => {
  it.each([
    ['openai::anything', `openai::anything | ${openai}`],
    ['openai::', `openai::gpt-6.2-sol | ${openai}`],
    ['openai_resp::gpt-5-high', `openai::gpt-5 | ${openai} | high`],
    ['anthropic::claude-haiku-4-5', `anthropic::claude-haiku-4-5 | ${anthropic}`],
    ['open_router::z-ai/glm-5', `openrouter::z-ai/glm-5 | ${openrouter}`],
    ['kimi::kimi-k3', 'moonshot::kimi-k3 | chat https://api.moonshot.ai/v1 MOONSHOT_API_KEY!'],
    ['zai_coding::glm-5.3', 'zai::glm-5.3 | chat https://api.z.ai/api/coding/paas/v4 ZAI_API_KEY!'],
    ['groq::openai/gpt-oss-120b', 'groq::openai/gpt-oss-120b | chat https://api.groq.com/openai/v1 GROQ_API_KEY!'],
    ['lab::llama-high', 'lab::llama-high | chat https://lab.test/v1 LAB_KEY!'],
    ['ollama::qwen-high', `ollama::qwen-high | ${ollama}`],
    ['lab::', 'lab::llama | chat https://lab.test/v1 LAB_KEY!'],
    ['openai/gpt-5-low', `openai::gpt-5 | ${openai} | low`],
    ['lab/llama', 'lab::llama | chat https://lab.test/v1 LAB_KEY!'],
    ['groq/llama-3.3', 'groq::llama-3.3 | chat https://api.groq.com/openai/v1 GROQ_API_KEY!'],
    ['ollama/llama3', `ollama::llama3 | ${ollama}`],
    ['lmstudio::some/model', 'lmstudio::some/model | chat http://127.0.0.1:1234/v1 undefined'],
    ['offline::extractive', 'offline::extractive | offline'],
  ])('%s selects %s', (name, expected) => {
    expect(shown(choiceFor(name, { providers: lab }))).toBe(expected)
  })

  it('is sent in the spelling of the host', () => {
    expect(choiceFor('fireworks::kimi-k3-high')).toMatchObject({
      model: 'accounts/fireworks/models/kimi-k3',
      label: 'fireworks::kimi-k3',
      reasoningEffort: 'high',
    })
    expect(choiceFor('accounts/fireworks/routers/kimi-k3-fast')).toMatchObject({
      model: 'accounts/fireworks/routers/kimi-k3-fast',
    })
    expect(choiceFor('openrouter::auto').model).toBe('openrouter/auto')
    const providers = { fireworks: { base_url: 'https://mine/v1' } }
    expect(choiceFor('fireworks::kimi-k3', { providers }).model).toBe('kimi-k3')
  })

  it('uses the first of several key variables that is set', () => {
    const key = (name: string, env: ModelSources['env']): unknown => choiceFor(name, { env }).provider
    expect(key('gemini-3', { GOOGLE_API_KEY: 'k' })).toMatchObject({ apiKeyEnv: 'GOOGLE_API_KEY' })
    expect(key('gemini-3', { GOOGLE_API_KEY: 'k', GEMINI_API_KEY: 'k' })).toMatchObject({ apiKeyEnv: 'GEMINI_API_KEY' })
    expect(key('kimi-k3', { KIMI_API_KEY: 'k', MOONSHOT_API_KEY: ' ' })).toMatchObject({ apiKeyEnv: 'KIMI_API_KEY' })
    expect(key('openrouter::auto', { OPEN_ROUTER_API_KEY: 'k' })).toMatchObject({ apiKeyEnv: 'OPEN_ROUTER_API_KEY' })
  })
})

describe('an id of the form vendor/model', () => {
  const env = { OPENROUTER_API_KEY: 'k' }

  it('selects OpenRouter with the whole id, when the vendor has no key here', () => {
    expect(shown(choiceFor('openai/gpt-5', { env }))).toBe(`openrouter::openai/gpt-5 | ${openrouter}`)
    expect(shown(choiceFor('z-ai/glm-5.3', { env }))).toBe(`openrouter::z-ai/glm-5.3 | ${openrouter}`)
    expect(shown(choiceFor('openai/gpt-5', { env: { ...env, OPENAI_API_KEY: 'k' } }))).toBe(`openai::gpt-5 | ${openai}`)
  })

  it('does not select a vendor that does not serve it', () => {
    const both = { ...env, OPENAI_API_KEY: 'k' }
    expect(shown(choiceFor('openai/gpt-oss-120b', { env: both }))).toBe(
      `openrouter::openai/gpt-oss-120b | ${openrouter}`,
    )
    expect(errorOf('openai/gpt-oss-120b', { env: { OPENAI_API_KEY: 'k' } }).message).toContain('unknown model')
  })

  it('is sent whole to an endpoint configured for OpenAI', () => {
    const own = { OPENAI_BASE_URL: 'http://here/v1', GROQ_API_KEY: 'k' }
    expect(choiceFor('openai/gpt-5', { env: own })).toMatchObject({
      model: 'openai/gpt-5',
      provider: { name: 'openai' },
    })
    expect(choiceFor('ollama/llama3', { env: own })).toMatchObject({ model: 'ollama/llama3' })
    expect(choiceFor('groq/llama', { env: own })).toMatchObject({ model: 'llama', provider: { name: 'groq' } })
  })
})

describe('the address of a provider', () => {
  it('in the environment means another server, which speaks chat completions instead of OpenAI', () => {
    const { provider } = choiceFor('gpt-5', { env: { OPENAI_BASE_URL: 'http://here/v1' } })
    expect(provider).toMatchObject({ format: 'chat', keyRequired: false, quirks: { outputLimit: 'max_tokens' } })
    const official = choiceFor('gpt-5', { env: { OPENAI_BASE_URL: 'https://api.openai.com/v1/' } })
    expect(official.provider).toMatchObject({ format: 'responses', keyRequired: true })
    const responses = choiceFor('openai_resp::x', { env: { OPENAI_BASE_URL: 'http://here/v1' } })
    expect(responses.provider).toMatchObject({ format: 'responses', baseUrl: 'http://here/v1' })
  })

  it.each([
    ['http://here', 'http://here/v1'],
    ['https://host/api/anthropic/', 'https://host/api/anthropic/v1'],
    ['http://here/v1', 'http://here/v1'],
    ['https://api.anthropic.com', 'https://api.anthropic.com/v1'],
  ])('in ANTHROPIC_BASE_URL may omit the version: %s', (ANTHROPIC_BASE_URL, baseUrl) => {
    expect(choiceFor('claude-x', { env: { ANTHROPIC_BASE_URL } }).provider).toMatchObject({
      baseUrl,
      format: 'anthropic',
    })
  })

  it.each([
    ['box', 'http://box:11434/v1'],
    ['box:8000', 'http://box:8000/v1'],
    [':8000', 'http://127.0.0.1:8000/v1'],
    ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
    ['[::]:1', 'http://127.0.0.1:1/v1'],
    ['[::1]', 'http://[::1]:11434/v1'],
    ['http://box', 'http://box:80/v1'],
    ['https://box/deep/', 'https://box:443/deep/v1'],
    ['http://box:8000/v1', 'http://box:8000/v1'],
  ])('in OLLAMA_HOST is parsed like Ollama does: %s', (OLLAMA_HOST, baseUrl) => {
    expect(choiceFor('ollama::m', { env: { OLLAMA_HOST } }).provider).toMatchObject({ baseUrl, isFree: true })
  })

  it('in the config keeps the format of the provider of that name, and may set another one', () => {
    const providers = {
      openai: { base_url: 'https://mine/v1', api_key_env: 'MINE' },
      anthropic: { base_url: 'https://mine/v1' },
      lab: { base_url: 'https://lab/v1', format: 'gemini' as const },
    }
    expect(shown(choiceFor('m', { providers, env: { OPENAI_API_KEY: 'k' } }))).toBe(
      'openai::m | chat https://mine/v1 MINE!',
    )
    expect(shown(choiceFor('claude-x', { providers }))).toBe(
      'anthropic::claude-x | anthropic https://mine/v1 ANTHROPIC_API_KEY',
    )
    expect(shown(choiceFor('lab::m', { providers }))).toBe('lab::m | gemini https://lab/v1 undefined')
    const env = { OPENAI_BASE_URL: 'http://here/v1' }
    expect(shown(choiceFor('m', { providers, env }))).toBe('openai::m | chat http://here/v1 OPENAI_API_KEY')
  })

  it('in the config has the quirks of its host', () => {
    const providers = { mine: { base_url: 'https://openrouter.ai/api/v1' }, other: { base_url: 'https://other/v1' } }
    expect(choiceFor('mine::m', { providers }).provider).toMatchObject({ quirks: { reasoning: 'object' } })
    expect(choiceFor('other::m', { providers }).provider).toMatchObject({ quirks: { reasoning: 'effort' } })
  })
})

describe('an alias', () => {
  it.each([
    ['opus', 'anthropic::claude-opus-5-5', undefined],
    ['flash-low', 'gemini::gemini-4-hydrogen', 'low'],
    ['glm', 'zai::glm-5.3', undefined],
    ['f-kimi', 'fireworks::kimi-k3', undefined],
    ['mine', 'openai::gpt-5-mini', 'low'],
    ['haiku', 'openai::gpt-5-mini', 'low'],
    ['second', 'anthropic::claude-sonnet-5-5', 'high'],
  ])('%s stands for %s, with those of the config before the built-in ones', (name, label, reasoningEffort) => {
    const aliases = { mine: 'gpt-5-mini-low', haiku: 'gpt-5-mini-low', second: 'sonnet-high' }
    const { label: actual, reasoningEffort: effort } = choiceFor(name, { aliases })
    expect([actual, effort]).toEqual([label, reasoningEffort])
  })

  it('of a provider in the config has priority over a prefix of the same name', () => {
    const providers = { kimi: { base_url: 'https://mine/v1' } }
    expect(shown(choiceFor('kimi::m', { providers }))).toBe('kimi::m | chat https://mine/v1 undefined')
  })
})

describe('an effort word at the end of a name', () => {
  const elsewhere = { OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1' }
  const chat = 'chat http://127.0.0.1:8000/v1 OPENAI_API_KEY'

  it.each([
    ['own-max', `openai::own-max | ${chat}`],
    ['gpt-5-high', `openai::gpt-5 | ${chat} | high`],
  ])('%s is removed at a custom address only if the family is known', (name, expected) => {
    expect(shown(choiceFor(name, { env: elsewhere }))).toBe(expected)
  })

  it.each([
    ['quick-low', 'openai::gpt-5-mini', 'low'],
    ['quick', 'openai::gpt-5-mini', 'high'],
    ['gpt-low', choiceFor('gpt').label, 'low'],
    ['ours-low', 'lab::lab-high', 'low'],
  ])('%s sets the effort of the caller', (name, label, reasoningEffort) => {
    const aliases = { quick: 'gpt-5-mini-high', ours: 'lab::lab-high' }
    const providers = { lab: { base_url: 'https://lab.test/v1' } }
    expect(choiceFor(name, { aliases, providers })).toMatchObject({ label, reasoningEffort })
  })
})

describe('a gateway', () => {
  it('receives every name unchanged, whatever provider or built-in alias it names', () => {
    const env = { BATON_GATEWAY_URL: 'https://gate/v1', OPENAI_API_KEY: 'k' }
    expect(shown(choiceFor('openai::gpt-5-high', { env }))).toBe(
      'gateway::openai::gpt-5-high | chat https://gate/v1 BATON_GATEWAY_KEY',
    )
    expect(shown(choiceFor('small-high', { env, aliases: { small: 'our-max' } }))).toBe(
      'gateway::our-max | chat https://gate/v1 BATON_GATEWAY_KEY | high',
    )
    expect(choiceFor('opus', { env }).label).toBe('gateway::opus')
    expect(choiceFor('opus', { env, aliases: { opus: 'mine' } }).label).toBe('gateway::mine')
    expect(choiceFor('fast', { env }).label).toBe('gateway::fast')
    expect(shown(choiceFor('offline::extractive', { env }))).toBe('offline::extractive | offline')
  })

  it('of the config uses its own key, not the one of the environment', () => {
    const gateway = {
      base_url: 'https://mine/v1',
      api_key_env: 'MINE',
      headers: { a: 'b' },
      format: 'anthropic',
    } as const
    expect(shown(choiceFor('m', { gateway }))).toBe('gateway::m | anthropic https://mine/v1 MINE!')
    const other = choiceFor('m', { gateway, env: { BATON_GATEWAY_URL: 'https://gate/v1' } })
    expect(other.provider).toMatchObject({
      baseUrl: 'https://gate/v1',
      apiKeyEnv: 'BATON_GATEWAY_KEY',
      format: 'chat',
    })
    expect(other.provider).toHaveProperty('headers', {})
  })
})

describe('an unknown name', () => {
  it.each(['llama3', 'nobody::m', 'offline::other', 'constructor::m', 'openai:gpt-5', 'vendor/model', 'toString'])(
    '%s is an error',
    (name) => {
      expect(errorOf(name, { providers: lab })).toMatchObject({
        code: 'CONFIG_INVALID',
        message: `unknown model "${name}"`,
      })
    },
  )

  it('is reported with the available names first, then the rest in one line', () => {
    const { hint = '' } = errorOf('nope-nope', { providers: lab, aliases: { tiny: 'x' }, env: { XAI_API_KEY: 'k' } })
    expect(hint).toBe(
      'Available: lab::NAME; xai::NAME; ollama::NAME; lmstudio::NAME; llama-server::NAME; offline::extractive; ' +
        'the aliases tiny, normal, high, fast. If their key is set: openai, anthropic, gemini, groq, deepseek, mistral, ' +
        'openrouter, together, fireworks, cerebras, moonshot, zai. A gateway (BATON_GATEWAY_URL) accepts any name.',
    )
  })

  it.each([
    ['openai:gpt-5', 'Did you mean "openai::gpt-5"?'],
    ['antropic::claude-x', 'Did you mean "anthropic::claude-x"?'],
    ['sonet', 'Did you mean "sonnet"?'],
    ['anthropic', 'Did you mean "anthropic::", its default model?'],
    ['tny', 'Did you mean "tiny"?'],
  ])('%s gets a suggestion: %s', (name, suggestion) => {
    expect(errorOf(name, { aliases: { tiny: 'x' } }).hint).toContain(suggestion)
  })

  it('is reported together with the alias that stands for it', () => {
    expect(errorOf('mine', { aliases: { mine: 'nope' } }).message).toBe('unknown model "mine" (alias for "nope")')
  })

  it('is different from a provider without a default model', () => {
    expect(errorOf('ollama::')).toMatchObject({ message: 'ollama has no default model' })
  })
})
