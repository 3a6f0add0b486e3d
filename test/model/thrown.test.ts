import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modelFailureOf } from '../../src/model/errors.ts'
import { faultOfThrown } from '../../src/model/faults.ts'
import { failing, failingReply, openServer } from '../helpers/failing-call.ts'
import { chatEvents, startModelServer, type ModelReply } from '../helpers/model-server.ts'

describe('a failed connection', () => {
  it('because of a system limit names the limit', () => {
    const error = Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' })
    const shared = { class: 'timeout', retryable: true, isUnreached: true }
    const [before, during] = [false, true].map((answering) => faultOfThrown(error, { answering }))
    expect(before).toEqual({ ...shared, what: 'did not answer in time (ETIMEDOUT)' })
    expect(during).toEqual({ ...shared, what: 'stopped during the answer (ETIMEDOUT)' })
  })

  it('that was refused is a network failure', async () => {
    const server = await startModelServer([])
    await server.close()
    const { error } = await failing(server.url)
    expect(error.code).toBe('MODEL_FAILED')
    expect(error.message).toBe(`m1: ${server.host} refused the connection: nothing is listening there`)
    expect(modelFailureOf(error)).toEqual({
      kind: 'model-failure',
      class: 'network',
      retryable: true,
      isOverload: false,
    })
  })

  it('without an address is a network failure', async () => {
    const { error } = await failing('http://no-such-host.invalid/v1')
    expect(error.message).toContain('no-such-host.invalid could not be resolved')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
  })

  it('without TLS is not retried', async () => {
    const server = await openServer({ text: 'a' })
    const { error } = await failing(server.url.replace('http:', 'https:'))
    expect(error.message).toContain('cannot be reached securely')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: false })
  })

  it('that does not speak HTTP is garbled', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.resume()
      socket.end('SSH-2.0-OpenSSH_9.6\r\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
    const { error } = await failing(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
    expect(modelFailureOf(error)).toMatchObject({ class: 'garbled' })
  })

  it('that breaks before the headers is a network failure', async () => {
    const { error, events } = await failingReply({ reset: true })
    expect(error.message).toContain('closed the connection before it answered')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
    expect(events).toEqual([])
  })

  const cuts: readonly (readonly [string, ModelReply])[] = [
    ['in the middle of the answer', { text: 'a b c', cutAfter: 2 }],
    ['in the middle of an event', { rawChunks: [Buffer.from(chatEvents({ text: 'a b c' }).join('').slice(0, 200))] }],
    [
      'after the last token, without finish reason and end mark',
      { text: 'a b', finish: null, usage: null, cutAfter: 2 },
    ],
    ['after lines that are no events', { rawChunks: [Buffer.from('hello\n: note\n\nevent: x\n\nworld')] }],
    ['after the last token, by a proper end of the body', { text: 'a b', finish: null, doneMark: false }],
  ]
  it.each(cuts)('%s is never an answer', async (_, reply) => {
    const { error, events } = await failingReply(reply)
    expect(error.message).toContain('closed the connection during the answer')
    expect(modelFailureOf(error)).toMatchObject({ class: 'network', retryable: true })
    expect(events.map(({ type }) => type)).not.toContain('finish')
  })
})
