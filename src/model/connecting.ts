import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** Tells when a request of Node's `fetch` has its connection. */
export interface ConnectionWatch {
  /**
   * Runs `send`, which calls `fetch` at once, and calls `onConnected` when that request goes out on an open connection
   * (TLS included), or before it returns when this cannot be found out. Never after the result has settled.
   */
  send<T>(send: () => Promise<T>, onConnected: () => void): Promise<T>
}

const created = 'undici:request:create'
const sent = 'undici:client:sendHeaders'

/**
 * Listens to the diagnostics channels of Node's `fetch`, only while a request waits for its connection. `fetch` has no
 * limit for connecting that could be set, and an answer says nothing about when its connection was there. A `fetch` that
 * announces nothing, or not before it returns, is treated as connected at once.
 */
export function watchConnections(): ConnectionWatch {
  const waiting = new Map<object, () => void>()

  function onSent(message: unknown): void {
    const request = requestOf(message)
    const onConnected = request === undefined ? undefined : waiting.get(request)
    if (request === undefined || onConnected === undefined) return
    forget(request)
    onConnected()
  }

  function remember(request: object, onConnected: () => void): void {
    if (waiting.size === 0) subscribe(sent, onSent)
    waiting.set(request, onConnected)
  }

  function forget(request: object): void {
    if (waiting.delete(request) && waiting.size === 0) unsubscribe(sent, onSent)
  }

  return {
    async send(send, onConnected) {
      const { request, result } = requestMadeBy(send)
      if (request === undefined) {
        onConnected()
        return result
      }
      remember(request, onConnected)
      try {
        return await result
      } finally {
        forget(request)
      }
    },
  }
}

/** Runs `send` and gives the request it announced before it returned. */
function requestMadeBy<T>(send: () => T): { readonly request: object | undefined; readonly result: T } {
  let request: object | undefined
  const onCreated = (message: unknown): void => {
    request ??= requestOf(message)
  }
  subscribe(created, onCreated)
  try {
    const result = send()
    return { request, result }
  } finally {
    unsubscribe(created, onCreated)
  }
}

function requestOf(message: unknown): object | undefined {
  if (typeof message !== 'object' || message === null || !('request' in message)) return undefined
  return typeof message.request === 'object' && message.request !== null ? message.request : undefined
}
