import { isBatonError } from '../base/error.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { Quirks, WireFormat } from './wire/format.ts'
import { type AnswerReader, readAnswer } from './answer.ts'
import { readBaseUrl } from './base-url.ts'
import type { BatchApi } from './batch/api.ts'
import { type Call, connectTimeout, openCall } from './call.ts'
import { type Endpoint, modelError } from './errors.ts'
import type { HttpAnswer } from './exchange.ts'
import { faultOfThrown } from './faults.ts'
import type { ModelEvent, ModelProvider, ModelRequest, UnsentSetting } from './provider.ts'
import type { SendOptions } from './send.ts'

export interface TransportOptions extends Omit<SendOptions, 'base' | 'apiKey'> {
  /** The key, or the function that gets one that expires. If undefined, no header with a key is sent. */
  readonly apiKey: string | ((signal: AbortSignal) => Promise<string>) | undefined
  /** The name of the provider: `openai`, `gateway`, or its name in the config. */
  readonly name: string
  /**
   * Root of the API, for example `https://api.openai.com/v1`. A query (`?api-version=…`) is sent with every request.
   */
  readonly baseUrl: string
  /** Where that comes from, for hints; omitted for built-in addresses. */
  readonly baseUrlName?: string | undefined
  readonly quirks: Quirks
  /** Whether the host has the batch API of its format. */
  readonly hasBatches?: boolean
  /** See `ModelProvider`. */
  readonly batchKey?: string
  /** The environment variable or the setting that the key comes from, for hints. */
  readonly apiKeyName?: string | undefined
}

/**
 * The one HTTP stack below all wire formats. Nothing is retried here. A stream that is left early,
 * aborted or failed closes its connection.
 * @throws BatonError CONFIG_INVALID if the base URL is invalid
 */
export function createTransport(format: WireFormat, options: TransportOptions): ModelProvider {
  const { name, apiKey: given, headers = {}, timeouts, quirks } = options
  const base = readBaseUrl(options.baseUrl, options.baseUrlName ?? name)
  let current = typeof given === 'string' ? given : ''
  const endpoint = (): Endpoint => ({
    host: base.host,
    addressName: options.baseUrlName,
    keyName: options.apiKeyName,
    keySent: given !== undefined,
    secrets: [...(current === '' ? [] : [current]), ...Object.values(headers), ...Object.values(base.query)],
  })
  const send = format.createSender({
    ...options,
    base,
    apiKey: typeof given === 'function' ? async () => current : given,
  })

  async function open(request: ModelRequest, call: Call, signal: AbortSignal): Promise<HttpAnswer> {
    if (typeof given === 'function') current = await given(signal)
    const limit = { ms: timeouts.connectMs, fault: connectTimeout }
    return call.within(limit, () => send(format.path(request), format.body(request, quirks), call))
  }

  /** The events of one call. The call starts with the first `next`. */
  function read(request: ModelRequest, signal: AbortSignal): AsyncIterator<ModelEvent> {
    let call: Call | undefined
    let answer: HttpAnswer | undefined
    let reader: AnswerReader | undefined
    let events: readonly ModelEvent[] | undefined = []
    let position = 0

    function end(): IteratorResult<ModelEvent> {
      events = undefined
      call?.close()
      return { done: true, value: undefined }
    }

    // not a generator: passing events through one costs as much as reading them
    return {
      async next() {
        try {
          signal.throwIfAborted()
          call ??= openCall(signal, timeouts)
          answer ??= await open(request, call, signal)
          reader ??= await readAnswer(answer, { format, call, timeouts })
          while (events?.length === position) {
            events = await reader.next()
            position = 0
            signal.throwIfAborted()
          }
          const event = events?.[position]
          position += 1
          return event === undefined ? end() : { done: false, value: event }
        } catch (error) {
          end()
          signal.throwIfAborted()
          if (isBatonError(error)) throw error
          const fault = call?.fault() ?? faultOfThrown(error, { answering: answer !== undefined })
          throw modelError(fault, { model: request.model, endpoint: endpoint() })
        }
      },
      return: async () => end(),
    }
  }

  function stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    return { [Symbol.asyncIterator]: () => read(request, signal) }
  }

  async function openBatches(): Promise<BatchApi> {
    const key = async (signal: AbortSignal): Promise<string | undefined> =>
      typeof given === 'function' ? (current = await given(signal)) : given
    const { createBatchClient } = await import('./batch/client.ts')
    const client = createBatchClient(format, { ...options, base, key, endpoint })
    return format.name === 'anthropic'
      ? (await import('./batch/anthropic.ts')).anthropicBatches(client)
      : (await import('./batch/openai.ts')).openAiBatches(client)
  }

  return {
    name,
    stream,
    ...(options.hasBatches === true ? { openBatches } : defined({ batchKey: options.batchKey })),
    unsent: (request) => unsentSettings(request, (one) => format.body(one, quirks)),
  }
}

type Settings = Pick<ModelRequest, 'reasoning_effort' | 'temperature' | 'top_p' | 'seed' | 'max_tokens'>
type Name = keyof Settings

/** `max_tokens` is always sent, but a low limit can prevent other settings. */
const names: readonly Name[] = ['reasoning_effort', 'temperature', 'top_p', 'seed', 'max_tokens']

/**
 * The settings of a request that are not sent. They are found by comparing the body with and without each of them, so
 * that formats need not list separately what they omit. An effort of `none` requests nothing.
 * @param body builds the body that is sent for a request
 */
export function unsentSettings(
  request: ModelRequest,
  body: (request: ModelRequest) => JsonObject,
): readonly UnsentSetting[] {
  const settings: Settings = Object.fromEntries(
    names
      .filter((name) => request[name] !== undefined && request[name] !== 'none')
      .map((name) => [name, request[name]]),
  )
  const given = names.filter((name) => settings[name] !== undefined)

  function isSent(name: Name, others: Settings): boolean {
    const bare = { ...others, model: request.model, messages: [] }
    return JSON.stringify(body(bare)) !== JSON.stringify(body({ ...bare, [name]: settings[name] }))
  }

  /** The settings that prevent this one from being sent; empty if it is not sent on its own either. */
  function rivalsOf(name: Name): readonly Name[] {
    const others = given.filter((other) => other !== name)
    const rival = others.find((other) => isSent(name, without(settings, name, other)))
    if (rival !== undefined) return [rival]
    return isSent(name, {}) ? others : []
  }

  return given
    .filter((name) => name !== 'max_tokens' && !isSent(name, without(settings, name)))
    .map((name) => ({ name, ...explained(name, rivalsOf(name), settings) }))
}

function explained(name: Name, rivals: readonly Name[], settings: Settings): Pick<UnsentSetting, 'reason' | 'hint'> {
  if (rivals.length === 0)
    return { reason: 'is not known to support it', hint: `Remove ${name}, or use another model.` }
  const shown = rivals.map((rival) => `${rival} = ${JSON.stringify(settings[rival])}`).join(' and ')
  const hint = rivals[0] === 'max_tokens' ? `Raise max_tokens, or remove ${name}.` : 'Remove one of them.'
  return { reason: `does not support it together with ${shown}`, hint }
}

function without(settings: Settings, ...left: readonly Name[]): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !left.some((other) => other === name)))
}
