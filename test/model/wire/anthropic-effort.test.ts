import { callOf, messageOf, resultOf } from '../../helpers/messages.ts'
import { describe, expect, it } from 'vitest'
import { type Message, textMessage } from '../../../src/event/message.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { anthropicFormat } from '../../../src/model/wire/anthropic.ts'
import { commonQuirks } from '../../../src/model/wire/format.ts'

const hello: readonly Message[] = [textMessage('user', 'Hello')]

/** The part of the body that depends on the model's family and the effort. */
function settings(model: string, request: Partial<ModelRequest> = {}): unknown {
  const body = anthropicFormat.body({ model, messages: hello, ...request }, commonQuirks)
  const { max_tokens, thinking, output_config, temperature, top_p } = body
  return Object.fromEntries(
    Object.entries({ max_tokens, thinking, output_config, temperature, top_p }).filter(
      ([, value]) => value !== undefined,
    ),
  )
}

function budget(budget_tokens: number): object {
  return { type: 'enabled', budget_tokens }
}

function adaptive(display = 'summarized'): object {
  return { type: 'adaptive', display }
}

describe('models with a token budget for thinking', () => {
  it.each([
    ['minimal', 1024],
    ['low', 1024],
    ['medium', 8000],
    ['high', 24_000],
    ['xhigh', 24_000],
    ['max', 24_000],
  ])('get the budget of the effort %s and a limit above it', (effort, tokens) => {
    for (const model of ['claude-sonnet-4-5-20250929', 'claude-3-7-sonnet-latest', 'claude-opus-4-1', 'glm-4.7']) {
      expect(settings(model, { reasoning_effort: effort })).toEqual({ max_tokens: 32_000, thinking: budget(tokens) })
    }
  })

  it('get no budget without an effort or with the effort none', () => {
    expect(settings('claude-sonnet-4-5')).toEqual({ max_tokens: 16_384 })
    expect(settings('claude-sonnet-4-5', { reasoning_effort: 'none' })).toEqual({ max_tokens: 16_384 })
  })

  it('get a budget that leaves room below a given limit, or none when there is no room', () => {
    const high = { reasoning_effort: 'high' }
    expect(settings('claude-sonnet-4-5', { ...high, max_tokens: 10_000 })).toEqual({
      max_tokens: 10_000,
      thinking: budget(8976),
    })
    expect(settings('claude-sonnet-4-5', { ...high, max_tokens: 2048 })).toHaveProperty('thinking', budget(1024))
    expect(settings('claude-sonnet-4-5', { ...high, max_tokens: 2047 })).toEqual({ max_tokens: 2047 })
  })

  it('do not think between a tool call and the next answer, because the API requires their signed thinking there', () => {
    const called: Message[] = [...hello, messageOf('assistant', '', callOf('c1', 'read', '{}')), resultOf('c1', 'text')]
    const high = { reasoning_effort: 'high' }
    expect(settings('claude-sonnet-4-5', { ...high, messages: called })).not.toHaveProperty('thinking')
    expect(settings('claude-opus-5', { ...high, messages: called })).toHaveProperty('thinking', adaptive())
    const answered: Message[] = [...called, textMessage('assistant', 'Done.'), ...hello]
    expect(settings('claude-sonnet-4-5', { ...high, messages: answered })).toHaveProperty('thinking', budget(24_000))
  })
})

describe('models with named efforts', () => {
  it.each([
    ['minimal', 'low', 32_000],
    ['low', 'low', 32_000],
    ['medium', 'medium', 32_000],
    ['high', 'high', 32_000],
    ['xhigh', 'xhigh', 64_000],
    ['max', 'max', 64_000],
  ])('get the effort %s as %s', (effort, sent, limit) => {
    for (const model of ['claude-opus-4-7', 'claude-sonnet-5-5', 'claude-fable-5-1', 'claude-mythos-preview']) {
      expect(settings(model, { reasoning_effort: effort })).toEqual({
        max_tokens: limit,
        thinking: adaptive(),
        output_config: { effort: sent },
      })
    }
  })

  it('get high for xhigh if they do not support it', () => {
    expect(settings('claude-opus-4-6', { reasoning_effort: 'xhigh' })).toHaveProperty('output_config.effort', 'high')
  })

  it('hide their thinking when no summary is wanted', () => {
    expect(settings('claude-opus-5', { reasoning_effort: 'low', reasoning_summary: 'none' })).toHaveProperty(
      'thinking',
      adaptive('omitted'),
    )
  })

  it('get the lowest effort for none if they think by default, otherwise nothing', () => {
    expect(settings('claude-opus-5', { reasoning_effort: 'none' })).toEqual({
      max_tokens: 32_000,
      output_config: { effort: 'low' },
    })
    expect(settings('claude-opus-4-6', { reasoning_effort: 'none' })).toEqual({ max_tokens: 16_384 })
  })
})

describe('models without thinking', () => {
  it('get no effort, and a limit that they support', () => {
    const high = { reasoning_effort: 'high' }
    expect(settings('claude-3-5-haiku-20241022', high)).toEqual({ max_tokens: 8192 })
    expect(settings('claude-3-opus-20240229', high)).toEqual({ max_tokens: 4096 })
    expect(settings('claude-sonnet-4-20250514')).toEqual({ max_tokens: 16_384 })
  })
})

describe('temperature and top_p', () => {
  it('are sent one at a time, the temperature first', () => {
    expect(settings('claude-sonnet-4-5', { temperature: 0, top_p: 0.5 })).toEqual({
      max_tokens: 16_384,
      temperature: 0,
    })
    expect(settings('claude-sonnet-4-5', { top_p: 0.5 })).toEqual({ max_tokens: 16_384, top_p: 0.5 })
  })

  it('are omitted with thinking, and for models that refuse them', () => {
    const both = { temperature: 0.5, top_p: 0.5 }
    expect(settings('claude-sonnet-4-5', { ...both, reasoning_effort: 'low' })).not.toHaveProperty('temperature')
    expect(settings('claude-opus-4-6', { ...both, reasoning_effort: 'low' })).not.toHaveProperty('temperature')
    expect(settings('claude-opus-4-6', both)).toHaveProperty('temperature', 0.5)
    expect(settings('claude-opus-4-7', both)).toEqual({ max_tokens: 16_384 })
  })
})
