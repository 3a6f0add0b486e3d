import { defined, isDeeper, maxJsonDepth } from '../../base/json.ts'
import { brokenStream, tooLarge } from './failures.ts'
import type { JSONRPCMessage, StreamableHTTPClientTransport, Transport } from './sdk.ts'
import type { Channel } from './wire.ts'

/** Delivers the messages of a process to whichever client is listening. */
export function createHub({ pid, send, listen }: Channel): { readonly transport: () => Transport } {
  let current: Transport | undefined
  listen({
    onMessage: (message) => current?.onmessage?.(flat(message as unknown as JSONRPCMessage)),
    onEnd: () => current?.onclose?.(),
  })
  return {
    transport(): Transport {
      const made: Transport & { readonly pid: number; readonly stderr: null } = {
        // the SDK recognizes a single-channel transport by these
        pid,
        stderr: null,
        start: async () => void (current = made),
        send: async (message) => send(message),
        close: async () => made.onclose?.(),
      }
      return made
    },
  }
}

/**
 * The same transport, but a request whose stream ends without an answer is answered with an error: otherwise it would
 * wait until its timeout.
 */
export function answering(inner: StreamableHTTPClientTransport, wasTooLarge: () => boolean): Transport {
  const open = new Set<unknown>()
  const outer: Transport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId
    },
    async start() {
      inner.onclose = () => outer.onclose?.()
      inner.onerror = (error) => outer.onerror?.(error)
      inner.onmessage = (message) => {
        if (!('method' in message)) open.delete(message.id)
        outer.onmessage?.(flat(message))
      }
      await inner.start()
    },
    async send(message, options) {
      if (!('method' in message) || !('id' in message)) return inner.send(message, defined(options ?? {}))
      const { id } = message
      open.add(id)
      const onRequestStreamEnd = (): void => {
        options?.onRequestStreamEnd?.()
        if (!open.delete(id)) return
        const code = wasTooLarge() ? tooLarge : brokenStream
        outer.onmessage?.({ jsonrpc: '2.0', id, error: { code, message: 'the connection broke' } })
      }
      await inner.send(message, { ...defined(options ?? {}), onRequestStreamEnd })
    },
    close: () => inner.close(),
    setProtocolVersion: (given) => inner.setProtocolVersion(given),
  }
  return outer
}

/** A message without contents that are nested too deeply to be read: an answer becomes an error, so nobody waits for it. */
function flat(message: JSONRPCMessage): JSONRPCMessage {
  if (!isDeeper(message, maxJsonDepth)) return message
  const { jsonrpc } = message
  if ('method' in message) {
    const { method } = message
    return 'id' in message ? { jsonrpc, id: message.id, method } : { jsonrpc, method }
  }
  const error = { code: tooDeep, message: `its answer is nested deeper than ${maxJsonDepth} levels` }
  return { jsonrpc, id: message.id ?? 0, error }
}

/** The code of JSON-RPC for a message that cannot be read. */
const tooDeep = -32_700
