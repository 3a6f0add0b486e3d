import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createDispatcher, type Dispatcher } from '../base/dispatcher.ts'
import { isObject } from '../base/json.ts'
import type { ModelTimeouts } from './call.ts'

interface ConnectionWatch {
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
  return isObject(message) && isObject(message['request']) ? message['request'] : undefined
}

/** The limits that Node's `fetch` has when nobody says otherwise. */
const nodeLimits = { connectMs: 10_000, silenceMs: 300_000 }

/** So that our own limit, which says what it is, comes first. */
const margin = 1_000

/**
 * What `fetch` needs so that our limits hold where they are longer than Node's own; undefined where they are not, or
 * where somebody has put something of their own (a proxy) in the place of Node's agent: its limits hold then.
 */
export function patientDispatcher({ connectMs, headersMs, streamIdleMs }: ModelTimeouts): Dispatcher | undefined {
  if (connectMs <= nodeLimits.connectMs && Math.max(headersMs, streamIdleMs) <= nodeLimits.silenceMs) return undefined
  return createDispatcher({ connect: { timeout: connectMs + margin }, headersTimeout: 0, bodyTimeout: 0 })
}
