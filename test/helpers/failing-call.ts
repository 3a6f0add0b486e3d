import { textMessage } from '../../src/event/message.ts'
import { expect, onTestFinished } from 'vitest'
import { isBatonError, type BatonError } from '../../src/base/error.ts'
import type { ModelEvent } from '../../src/model/provider.ts'
import type { TransportOptions } from '../../src/model/transport.ts'
import { chatProvider } from './chat-provider.ts'
import { startModelServer, type ModelReply, type ModelServer } from './model-server.ts'

/** The key used for failing calls. */
export const testKey = 'sk-live-0123456789abcdef'

interface Failure {
  readonly error: BatonError
  /** The events before it. */
  readonly events: readonly ModelEvent[]
}

/** Calls an endpoint that fails, and returns its error. No error text may contain the key. */
export async function failing(baseUrl: string, options: Partial<TransportOptions> = {}): Promise<Failure> {
  const provider = chatProvider(baseUrl, { apiKey: testKey, apiKeyName: 'TEST_KEY', ...options })
  const events: ModelEvent[] = []
  try {
    const request = { model: 'm1', messages: [textMessage('user', 'Hello')] } as const
    for await (const event of provider.stream(request, new AbortController().signal)) events.push(event)
  } catch (error) {
    if (!isBatonError(error)) throw error
    expect(JSON.stringify([error.message, error.hint, error.cause, error.stack])).not.toContain(testKey.slice(8))
    return { error, events }
  }
  throw new Error('the call did not fail')
}

/** Calls a server that sends this reply, which must fail. */
export async function failingReply(reply: ModelReply, options: Partial<TransportOptions> = {}): Promise<Failure> {
  return failing((await openServer(reply)).url, options)
}

/** A server that always sends this reply, until the test ends. */
export async function openServer(reply: ModelReply): Promise<ModelServer> {
  const server = await startModelServer(() => reply)
  onTestFinished(() => server.close())
  return server
}
