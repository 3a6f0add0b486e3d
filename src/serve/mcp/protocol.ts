import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequests,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
  type ServerContext,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { isObject, type JsonObject } from '../../base/json.ts'
import { version } from '../../version.ts'
import {
  clientShows,
  givenIn,
  type ClientResponse,
  type ShownQuestion,
  shownQuestions,
  stateOf,
  type WaitingRun,
} from './asking.ts'
import type { Calls } from './call.ts'
import type { CallEnd } from './call-end.ts'
import { checkedInput } from './checked-input.ts'
import type { Calling } from './held-runs.ts'
import type { Offer } from './offer.ts'
import { createOpenRequests, createSessions, type OpenRequests } from './sessions.ts'

/** What a server offers, with its handlers. */
export interface Offered extends Calls {
  readonly offers: readonly Offer[]
  readonly runs: () => Promise<readonly { readonly id: string; readonly title: string }[]>
  /** Returns JSON; rejects for an unknown run. */
  readonly readRun: (id: string) => Promise<string>
}

/** How long the user may take to decide about an approval. */
const answerSeconds = 24 * 60 * 60

/** Maximum size of a request: about what a prompt could use. */
export const mostBytes = 16 * 1024 * 1024

export interface Served {
  readonly close: () => Promise<void>
}

/** Serves one client over a pair of streams. `onClose` is called when the client closes its end. */
export function serveStreams(
  offered: Offered,
  { input, output, onClose }: { readonly input: Readable; readonly output: Writable; readonly onClose: () => void },
): Served {
  const checked = input.pipe(checkedInput({ mostBytes, output }))
  input.once('close', () => checked.end())
  // a byte more for the end of the line
  const transport = new StdioServerTransport(checked, output, { maxBufferSize: mostBytes + 1 })
  const handle = serveStdio(serverFactory(offered), { transport })
  checked.once('close', onClose).once('end', onClose)
  return { close: async () => void (await Promise.all([handle.close(), offered.close()])) }
}

export interface WebServed extends Served {
  readonly fetch: (request: Request) => Promise<Response>
}

/** Default maximum of sessions for clients of the older protocol. */
const usualSessions = 256

/**
 * Serves clients over streamable HTTP. Clients of the newer protocol need no session. Those of the older one get a
 * session, because they can be asked for approvals only within one.
 */
export function serveWeb(
  offered: Offered,
  { mostSessions = usualSessions }: { readonly mostSessions?: number } = {},
): WebServed {
  const factory = serverFactory(offered)
  const modern = createMcpHandler(factory, { legacy: 'reject', maxRequestBodySize: mostBytes })
  const sessions = createSessions(mostSessions)

  async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
    const requests = createOpenRequests()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      maxRequestBodySize: mostBytes,
      onsessioninitialized(id) {
        const isBusy = (): boolean => !requests.isEmpty()
        sessions.add(id, {
          isBusy,
          handleRequest: (request) => transport.handleRequest(request),
          close: () => transport.close(),
        })
      },
    })
    const server = factory()
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    watchRequests(transport, requests)
    return transport
  }

  async function legacy(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) {
      if (!sessions.hasRoom()) return refusal(503, allBusy(mostSessions), { 'retry-after': '10' })
      return (await openSession()).handleRequest(request)
    }
    return sessions.use(id)?.handleRequest(request) ?? refusal(404, 'Session not found')
  }

  return {
    async fetch(request) {
      const isLegacy = await isLegacyRequest(request, undefined, { maxRequestBodySize: mostBytes })
      return isLegacy ? legacy(request) : modern.fetch(request)
    },
    async close() {
      await Promise.all([modern.close(), sessions.close(), offered.close()])
    },
  }
}

function watchRequests(transport: Transport, requests: OpenRequests): void {
  const { onmessage } = transport
  const send = transport.send.bind(transport)
  transport.onmessage = (message, extra) => {
    requests.received(message)
    onmessage?.(message, extra)
  }
  transport.send = (message, options) => {
    requests.sent(message)
    return send(message, options)
  }
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message } }, { status, headers })
}

function allBusy(most: number): string {
  return `all ${most} sessions of this server are busy: try again later`
}

function serverFactory(offered: Offered): () => McpServer {
  const codec = createRequestStateCodec<WaitingRun>({ key: randomBytes(32), ttlSeconds: answerSeconds })
  return () => {
    const server = new McpServer(
      { name: 'baton', version },
      {
        // the tools are fixed at the start, and clients are not notified of new runs
        capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
        requestState: { verify: (state, context) => codec.verify(state, context) },
        inputRequired: { maxRounds: 64 },
      },
    )
    for (const offer of offered.offers) registerOffer(server, offer, { offered, codec })
    registerRuns(server, offered)
    return server
  }
}

interface Registering {
  readonly offered: Offered
  readonly codec: ReturnType<typeof createRequestStateCodec<WaitingRun>>
}

function registerOffer(server: McpServer, offer: Offer, { offered, codec }: Registering): void {
  const { name, title, description, input, output } = offer
  const config = {
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema: fromJsonSchema<JsonObject>({ ...input }),
    ...(output === undefined ? {} : { outputSchema: fromJsonSchema<JsonObject>({ ...output }) }),
  }
  server.registerTool(name, config, async (given: JsonObject, context: ServerContext) => {
    const calling = callingOf(server, context)
    const waiting = context.mcpReq.requestState<WaitingRun>()
    if (waiting !== undefined && waiting.offer !== name)
      throw new Error(`these answers belong to a call of ${waiting.offer}`)
    const end =
      waiting === undefined
        ? await offered.start(offer, given, calling)
        : await offered.answer(
            offer,
            givenIn(waiting, (id) => responseIn(context, id)),
            calling,
          )
    if (end.kind === 'ended') return resultOf(end)
    const inputRequests = Object.fromEntries(shownQuestions(end).map(([id, shown]) => [id, requestFor(shown)]))
    return inputRequired({ inputRequests, requestState: await codec.mint(stateOf(end, name)) })
  })
}

function resultOf({ text, value, isError, runId }: Extract<CallEnd, { readonly kind: 'ended' }>) {
  return {
    content: [{ type: 'text' as const, text }],
    ...(value === undefined ? {} : { structuredContent: value }),
    ...(isError ? { isError } : {}),
    _meta: { 'batonrun/run': runUri(runId) },
  }
}

/** The client's signal, capabilities and progress listener for one call. */
function callingOf(server: McpServer, { mcpReq, http }: ServerContext): Calling {
  // the package does not declare the type of the envelope
  const told = (mcpReq.envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
  const capabilities = told ?? server.server.getClientCapabilities()
  const progressToken = mcpReq._meta?.progressToken
  // the older protocol keeps a request open after its connection broke, but its answer could not be delivered any more
  const gone = http?.req?.signal
  let progress = 0
  return {
    signal: gone === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, gone]),
    // only the newer protocol sends capabilities with each request
    endsWithQuestion: told !== undefined,
    shows: clientShows(isObject(capabilities) ? capabilities['elicitation'] : undefined),
    onProgress(message) {
      if (progressToken === undefined) return
      progress += 1
      // the client may have disconnected
      mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
        .catch(() => undefined)
    },
  }
}

type FormSchema = Exclude<Parameters<typeof inputRequired.elicit>[0]['requestedSchema'], { '~standard': unknown }>

function requestFor(shown: ShownQuestion): InputRequests[string] {
  const { message } = shown
  if (shown.kind === 'url') return inputRequired.elicitUrl({ message, url: shown.url })
  return inputRequired.elicit({ message, requestedSchema: shown.schema as unknown as FormSchema })
}

function responseIn({ mcpReq }: ServerContext, id: string): ClientResponse {
  const response = inputResponse(mcpReq.inputResponses, id)
  return response.kind === 'elicit' ? response : undefined
}

function runUri(id: string): string {
  return `baton://runs/${id}`
}

function registerRuns(server: McpServer, { runs, readRun }: Offered): void {
  const template = new ResourceTemplate('baton://runs/{id}', {
    list: async () => ({
      resources: (await runs()).map(({ id, title }) => ({
        uri: runUri(id),
        name: id,
        title,
        mimeType: 'application/json',
      })),
    }),
  })
  const about = { title: 'Recorded runs', description: 'What a run did, cost and answered, as JSON.' }
  server.registerResource('runs', template, { ...about, mimeType: 'application/json' }, async (uri, { id }) => ({
    contents: [{ uri: uri.href, mimeType: 'application/json', text: await readRun(String(id)) }],
  }))
}
