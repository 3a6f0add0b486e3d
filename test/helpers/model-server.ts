import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json, JsonObject } from '../../src/base/json.ts'

/** One scripted answer. Without `body` or `rawChunks` it is a chat completion stream of `text`. */
export interface ModelReply {
  readonly text?: string
  /** The pieces in which `text` is streamed; default: words. */
  readonly chunks?: readonly string[]
  readonly reasoning?: readonly string[]
  /** Tool calls after the text, with their arguments in these pieces. */
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly pieces: readonly string[] }[]
  /** null: the server reports no token counts. */
  readonly usage?: JsonObject | null
  /** null: no finish reason is sent. */
  readonly finish?: string | null
  /** False: the stream ends without `[DONE]`. */
  readonly doneMark?: boolean
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  /** The whole body instead of a stream. A value that is not text is sent as JSON. */
  readonly body?: string | Json
  /** The body byte for byte, one write each. */
  readonly rawChunks?: readonly Buffer[]
  /** Destroys the connection before anything is sent. */
  readonly reset?: boolean
  /** Destroys the connection after this many writes. */
  readonly cutAfter?: number
  /** Sends nothing more after this many writes and leaves the connection open. */
  readonly stallAfter?: number
  readonly delayMs?: number
  /** Nothing is sent until this settles; with `gateAfter`, nothing after this many writes. */
  readonly gate?: Promise<void>
  readonly gateAfter?: number
}

interface ModelServerRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed body; null when it is not JSON. */
  readonly body: ChatRequestBody | null
}

interface ChatRequestBody {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly [key: string]: unknown
}

export interface ModelServer {
  /** The base URL: `http://127.0.0.1:<port>/v1`. */
  readonly url: string
  /** The host and port, as messages show them. */
  readonly host: string
  /** Every request so far, in order of arrival. */
  readonly requests: readonly ModelServerRequest[]
  /** The largest number of requests that were being answered at the same time. */
  maxInFlight(): number
  /** Settles once the client has closed this many connections before their answers were complete. */
  closedByClient(count?: number): Promise<void>
  /** How many TCP connections were opened. */
  connections(): number
  close(): Promise<void>
}

export type ModelScript =
  | readonly ModelReply[]
  | ((request: ModelServerRequest, index: number) => ModelReply | Promise<ModelReply>)

/**
 * An OpenAI-compatible server on 127.0.0.1 that plays a script byte for byte. A list answers in the order of the
 * requests; when it is used up, the server answers 400, which is not tried again. Replies with a status other than 200 need a `body`.
 */
export async function startModelServer(script: ModelScript): Promise<ModelServer> {
  const requests: ModelServerRequest[] = []
  const waiting = new Set<() => void>()
  let inFlight = 0
  let most = 0
  let opened = 0
  let closed = 0

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    inFlight += 1
    most = Math.max(most, inFlight)
    response.once('close', () => {
      inFlight -= 1
      if (response.writableFinished || response.socket?.destroyed === undefined) return
      closed += 1
      for (const check of waiting) check()
    })
    const request = await readRequest(incoming)
    const index = requests.push(request) - 1
    await play(await replyFor(script, { request, index }), { request, response })
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  server.on('connection', () => (opened += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    requests,
    maxInFlight: () => most,
    connections: () => opened,
    closedByClient: (count = 1) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (closed < count) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    close: () => closeServer(server),
  }
}

/** The events of a chat completion stream as text, for replies with `rawChunks`. */
export function chatEvents(reply: ModelReply, model = 'test-model'): string[] {
  const chunk = (choices: Json, more: JsonObject = {}): string =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 0, model, choices, ...more })}\n\n`
  const delta = (content: JsonObject): string => chunk([{ index: 0, delta: content, finish_reason: null }])
  const pieces = reply.chunks ?? reply.text?.match(/\S+\s*|\s+/g) ?? []
  const finish = reply.finish === undefined ? 'stop' : reply.finish
  const usage = reply.usage === undefined ? { prompt_tokens: 10, completion_tokens: pieces.length } : reply.usage
  return [
    ...(reply.reasoning ?? []).map((text) => delta({ reasoning_content: text })),
    ...pieces.map((text) => delta({ content: text })),
    ...(reply.toolCalls ?? []).flatMap(({ id, name, pieces: [first = '', ...rest] }, index) => [
      delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: first } }] }),
      ...rest.map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    ...(finish === null ? [] : [chunk([{ index: 0, delta: {}, finish_reason: finish }])]),
    ...(usage === null ? [] : [chunk([], { usage })]),
    ...(reply.doneMark === false ? [] : ['data: [DONE]\n\n']),
  ]
}

async function replyFor(
  script: ModelScript,
  { request, index }: { readonly request: ModelServerRequest; readonly index: number },
): Promise<ModelReply> {
  if (request.method !== 'POST' || !/^\/v1(?:\/deployments\/[^/]+)?\/chat\/completions/.test(request.path)) {
    return { status: 404, body: { error: { message: `no route for ${request.method} ${request.path}` } } }
  }
  if (typeof script === 'function') return script(request, index)
  return script[index] ?? { status: 400, body: { error: { message: `the script has only ${script.length} replies` } } }
}

async function play(
  reply: ModelReply,
  { request, response }: { readonly request: ModelServerRequest; readonly response: ServerResponse },
): Promise<void> {
  if (reply.gateAfter === undefined) await reply.gate
  if (reply.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.delayMs))
  if (reply.reset === true) return void response.socket?.destroy()

  const writes = writesOf(reply, request.body)
  response.writeHead(reply.status ?? 200, { 'content-type': contentType(reply), ...reply.headers })
  response.flushHeaders()
  for (const [index, bytes] of writes.entries()) {
    if (index === reply.stallAfter) return
    if (index === reply.cutAfter) return void response.socket?.destroy()
    if (index === reply.gateAfter) await reply.gate
    await write(response, bytes)
  }
  if (reply.stallAfter !== undefined) return
  if (reply.cutAfter !== undefined) return void response.socket?.destroy()
  response.end()
}

function writesOf(reply: ModelReply, request: ChatRequestBody | null): readonly (string | Buffer)[] {
  if (reply.rawChunks !== undefined) return reply.rawChunks
  if (reply.body !== undefined) return [typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)]
  const counts = request?.stream_options?.include_usage === true
  return chatEvents(counts ? reply : { ...reply, usage: null }, request?.model)
}

function contentType({ body }: ModelReply): string {
  return body === undefined ? 'text/event-stream' : 'application/json'
}

/**
 * Waits until the bytes are sent and for one more turn of the event loop, so that writes reach the client one by one.
 */
async function write(response: ServerResponse, bytes: string | Buffer): Promise<void> {
  await new Promise<void>((resolve) => response.write(bytes, () => resolve()))
  await new Promise((resolve) => setImmediate(resolve))
}

async function readRequest(incoming: IncomingMessage): Promise<ModelServerRequest> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const { method = '', url = '', headers } = incoming
  return { method, path: url, headers, body: parseBody(Buffer.concat(pieces).toString('utf8')) }
}

function parseBody(text: string): ChatRequestBody | null {
  try {
    return JSON.parse(text) as ChatRequestBody
  } catch {
    return null
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
