import { describe, expect, it } from 'vitest'
import { modelFailureOf } from '../../src/model/errors.ts'
import { failingReply } from '../helpers/failing-call.ts'
import type { ModelReply } from '../helpers/model-server.ts'

describe('an answer that is none', () => {
  const replies: readonly (readonly [string, ModelReply, string])[] = [
    [
      'HTML',
      { body: '<html></html>', headers: { 'content-type': 'text/html; charset=utf-8' } },
      'answered with text/html',
    ],
    ['an empty stream', { rawChunks: [] }, 'answered with an empty body'],
    ['an empty JSON body', { body: '' }, 'answered with an empty body'],
    ['truncated JSON', { body: '{"choices":[{"message":{"content":"half' }, 'answered with JSON that cannot be read'],
    ['JSON of another kind', { body: { status: 'ok' } }, 'answered with JSON that is no chat completion'],
    [
      'an event that is not JSON',
      { rawChunks: [Buffer.from('data: {oops}\n\n')] },
      'sent an event that is not a JSON object',
    ],
    [
      'a body that cannot be decompressed',
      { rawChunks: [Buffer.from('not gzip')], headers: { 'content-encoding': 'gzip' } },
      'cannot be decompressed',
    ],
  ]
  it.each(replies)('%s is garbled', async (_, reply, words) => {
    const { error } = await failingReply(reply)
    expect(error.code).toBe('MODEL_FAILED')
    expect(error.message).toContain(words)
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled', retryable: false })
  })
})
