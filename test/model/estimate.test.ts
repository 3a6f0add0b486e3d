import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { Message } from '../../src/event/message.ts'
import type { FailureClass } from '../../src/model/errors.ts'
import { costOfAnswer, costOfFailedCall, estimateOf, estimateTokens } from '../../src/model/estimate.ts'
import type { ToolDefinition } from '../../src/model/provider.ts'

const user = (content: string): Message => ({ role: 'user', content })

describe('estimateTokens', () => {
  it('counts UTF-8 bytes, 3.6 to a token, rounded up once for all messages', () => {
    expect(estimateTokens([])).toBe(0)
    expect(estimateTokens([user('a'.repeat(36))])).toBe(10)
    expect(estimateTokens([user('日'.repeat(36))])).toBe(30)
    expect(estimateTokens([user('a'), user('b'), user('c')])).toBe(1)
  })

  it('counts what tools are called with and what they are told as', () => {
    const call = { id: '1', name: 'read', arguments: 'x'.repeat(32) }
    expect(estimateTokens([{ role: 'assistant', content: '', tool_calls: [call] }])).toBe(10)
    const tool: ToolDefinition = { name: 'read', description: 'Reads a file.', parameters: { type: 'object' } }
    expect(estimateTokens([], [tool])).toBe(Math.ceil(JSON.stringify(tool).length / 3.6))
  })

  it('counts attachments by their size, and images never above what a large one costs', () => {
    const attached = (mediaType: string, bytes: number): Message => ({
      ...user(''),
      attachment: { name: 'a', mediaType, data: 'A'.repeat((bytes / 3) * 4) },
    })
    expect(estimateTokens([attached('application/pdf', 36_000)])).toBe(10_000)
    expect(estimateTokens([attached('image/png', 3600)])).toBe(1000)
    expect(estimateTokens([attached('image/png', 36_000), attached('image/png', 3_600_000)])).toBe(10_000)
  })
})

describe('estimateOf', () => {
  const request = { model: 'm', messages: [user('a'.repeat(360))] }

  it('is the input with its price, and the output limit with its rate', () => {
    expect(estimateOf({ ...request, max_tokens: 500 }, { input: 2 ** -19, output: 8e-6 })).toEqual({
      tokens: 100,
      usd: 100 * 2 ** -19,
      output: { tokens: 500, usdPerToken: 8e-6, least: 1024 },
    })
  })

  it('takes 16384 tokens of output where no limit is set, and no dollars where no price is known', () => {
    expect(estimateOf(request, undefined)).toEqual({ tokens: 100, output: { tokens: 16_384, least: 1024 } })
  })

  it('counts the schema of the output, which goes along with the request', () => {
    const output = { name: 'o', schema: { type: 'object', description: 'd'.repeat(360) } }
    expect(estimateOf({ ...request, output }, undefined).tokens).toBeGreaterThan(200)
  })
})

describe('costOfAnswer', () => {
  const usage = { calls: 1, input: 100, output: 20, cached: 50, reasoning: 10 }

  it('adds input and output, of which cached and reasoning tokens are parts', () => {
    expect(costOfAnswer({ text: 'x', usage, costUsd: 0.25 })).toEqual({ calls: 1, tokens: 120, usd: 0.25 })
  })

  it('leaves out what is not known, so that the estimate counts instead', () => {
    const uncounted = { calls: 0, input: 0, output: 0, cached: 0, reasoning: 0 }
    expect(costOfAnswer({ usage, costUsd: null })).toEqual({ calls: 1, tokens: 120 })
    expect(costOfAnswer({ usage: uncounted, costUsd: null })).toEqual({ calls: 1 })
    expect(costOfAnswer({ usage: uncounted, costUsd: 0.5 })).toEqual({ calls: 1, usd: 0.5 })
    expect(costOfAnswer({ usage: uncounted, costUsd: 0 })).toEqual({ calls: 1, tokens: 0, usd: 0 })
  })

  it('says nothing about values that are no answer', () => {
    expect([undefined, null, 'text', { text: 'x' }].map(costOfAnswer)).toEqual(Array(4).fill(undefined))
  })
})

describe('costOfFailedCall', () => {
  const failed = (name: FailureClass): BatonError => {
    return new BatonError('MODEL_FAILED', 'x', { cause: { kind: 'model-failure', class: name, retryable: true } })
  }

  it.each(['auth', 'invalid_request', 'not_found', 'quota', 'rate_limit', 'unavailable'] as const)(
    'is a call and no tokens when the host did no work: %s',
    (name) => {
      expect(costOfFailedCall(failed(name))).toEqual({ calls: 1, tokens: 0, usd: 0 })
    },
  )

  it.each(['network', 'timeout', 'garbled'] as const)('is not known when the answer may have begun: %s', (name) => {
    expect(costOfFailedCall(failed(name))).toBeUndefined()
  })

  it('is not known for any other error', () => {
    expect([new Error('x'), undefined, 'x'].map(costOfFailedCall)).toEqual([undefined, undefined, undefined])
  })
})
