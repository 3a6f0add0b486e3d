import { createDispatcher, type Dispatcher } from '../base/dispatcher.ts'
import { proxyConnector, proxyOf } from '../base/proxy.ts'

export interface BoundedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** Whether a message was too large since the last call. */
  readonly wasTooLarge: () => boolean
  readonly close: () => Promise<void>
}

const connectMs = 30_000

/**
 * A `fetch` with its own connections, through the proxy that the environment names, that accepts no message larger than `maxBytes`: reading such a body fails with
 * MessageTooLarge. It has no timeout of its own for the response, only the signal.
 */
export function createBoundedFetch(maxBytes: number, env: Readonly<Record<string, string | undefined>>): BoundedFetch {
  const dispatchers = new Map<string, Dispatcher | undefined>()

  function dispatcherFor(url: URL): Dispatcher | undefined {
    const proxy = proxyOf(url, env)
    const key = proxy?.url.href ?? ''
    if (!dispatchers.has(key)) {
      const connect = proxy === undefined ? { timeout: connectMs } : proxyConnector(proxy)
      dispatchers.set(key, createDispatcher({ connect, headersTimeout: 0, bodyTimeout: 0 }))
    }
    return dispatchers.get(key)
  }

  let isTooLarge = false
  const onTooLarge = (): MessageTooLarge => {
    isTooLarge = true
    return new MessageTooLarge()
  }
  return {
    wasTooLarge() {
      const was = isTooLarge
      isTooLarge = false
      return was
    },
    async fetch(url, init) {
      const dispatcher = dispatcherFor(new URL(url))
      const response = await fetch(url, { ...init, ...(dispatcher !== undefined && { dispatcher }) })
      if (response.body === null) return response
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
      const body = response.body.pipeThrough(
        isStream ? eventLimit(maxBytes, onTooLarge) : bodyLimit(maxBytes, onTooLarge),
      )
      const { status, statusText, headers } = response
      return withUrl(new Response(body, { status, statusText, headers }), response.url)
    },
    async close() {
      await Promise.all([...dispatchers.values()].map(async (dispatcher) => dispatcher?.destroy().catch(() => {})))
    },
  }
}

/** Thrown while reading a body that is larger than the limit. */
export class MessageTooLarge extends Error {
  override readonly name = 'MessageTooLarge'
}

/** A constructed `Response` has an empty `url`, but redirects are resolved relative to it. */
function withUrl(response: Response, url: string): Response {
  return Object.defineProperty(response, 'url', { value: url })
}

function bodyLimit(maxBytes: number, onTooLarge: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > maxBytes) controller.error(onTooLarge())
      else controller.enqueue(chunk)
    },
  })
}

const [newline, carriageReturn] = [0x0a, 0x0d]

/** Counts bytes per event; an event ends at an empty line. */
function eventLimit(maxBytes: number, onTooLarge: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let isLineEmpty = true
  return new TransformStream({
    transform(chunk, controller) {
      for (let start = 0; start < chunk.length;) {
        const end = chunk.indexOf(newline, start)
        const lineEnd = end === -1 ? chunk.length : end
        const hasText = lineEnd > start && !(lineEnd === start + 1 && chunk[start] === carriageReturn)
        isLineEmpty = isLineEmpty && !hasText
        bytes += lineEnd - start
        if (bytes > maxBytes) return controller.error(onTooLarge())
        if (end !== -1) {
          if (isLineEmpty) bytes = 0
          isLineEmpty = true
        }
        start = lineEnd + 1
      }
      controller.enqueue(chunk)
    },
  })
}
