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
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { isObject, type JsonObject } from '../../base/json.ts'
import type { ApprovalView } from '../../event/asked-action.ts'
import { version } from '../../version.ts'
import type { Answer, CallEnd, Calling } from './call.ts'
import type { Offer } from './offer.ts'

/** What a server offers, and what is done when it is asked for it. */
export interface Offered {
  readonly offers: readonly Offer[]
  readonly start: (offer: Offer, input: JsonObject, calling: Calling) => Promise<CallEnd>
  readonly answer: (
    offer: Offer,
    given: { readonly runId: string; readonly answers: readonly Answer[] },
    calling: Calling,
  ) => Promise<CallEnd>
  readonly runs: () => Promise<readonly { readonly id: string; readonly title: string }[]>
  /** JSON; rejects for a run that is none. */
  readonly readRun: (id: string) => Promise<string>
}

/** What a client gives back with the answers of a person. It is signed, so that it names no other run, and is of one offer. */
type WaitingRun = { readonly offer: string; readonly runId: string; readonly ids: readonly string[] }

/** For how long a person may think. */
const answerSeconds = 24 * 60 * 60

/** Arguments of one call: as many as a prompt could use. */
const mostBytes = 16 * 1024 * 1024

export interface Served {
  readonly close: () => Promise<void>
}

/** Serves one client over a pair of streams, until it closes its end; `onClose` is called then. */
export function serveStreams(
  offered: Offered,
  { input, output, onClose }: { readonly input: Readable; readonly output: Writable; readonly onClose: () => void },
): Served {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: mostBytes })
  const handle = serveStdio(serverFactory(offered), { transport })
  input.once('close', onClose).once('end', onClose)
  return { close: () => handle.close() }
}

export interface WebServed extends Served {
  readonly fetch: (request: Request) => Promise<Response>
}

/** Sessions of clients of the older protocol; the one that was not used for the longest time goes first. */
const mostSessions = 256

/**
 * Serves clients over streamable HTTP. Those of the newer protocol need no session; those of the older one get one, because
 * they can be asked for approvals only within it.
 */
export function serveWeb(offered: Offered): WebServed {
  const factory = serverFactory(offered)
  const modern = createMcpHandler(factory, { legacy: 'reject', maxRequestBodySize: mostBytes })
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()

  async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      maxRequestBodySize: mostBytes,
      onsessioninitialized(id) {
        const [oldest] = sessions.keys()
        if (sessions.size >= mostSessions && oldest !== undefined) void sessions.get(oldest)?.close()
        sessions.set(id, transport)
      },
    })
    const server = factory()
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    return transport
  }

  async function legacy(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (id !== null && known === undefined) return Response.json(sessionGone, { status: 404 })
    if (id !== null && known !== undefined) {
      sessions.delete(id)
      sessions.set(id, known)
    }
    return (known ?? (await openSession())).handleRequest(request)
  }

  return {
    async fetch(request) {
      const isLegacy = await isLegacyRequest(request, undefined, { maxRequestBodySize: mostBytes })
      return isLegacy ? legacy(request) : modern.fetch(request)
    },
    async close() {
      await Promise.all([modern.close(), ...[...sessions.values()].map((session) => session.close())])
    },
  }
}

const sessionGone = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }

function serverFactory(offered: Offered): () => McpServer {
  const codec = createRequestStateCodec<WaitingRun>({ key: randomBytes(32), ttlSeconds: answerSeconds })
  return () => {
    const server = new McpServer(
      { name: 'baton', version },
      {
        capabilities: { tools: {}, resources: {} },
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
      throw new Error(`these are answers to a call of ${waiting.offer}`)
    const end =
      waiting === undefined
        ? await offered.start(offer, given, calling)
        : await offered.answer(offer, { runId: waiting.runId, answers: answersIn(waiting, context) }, calling)
    if (end.kind === 'ended') return resultOf(end)
    const { runId, questions } = end
    const requestState = await codec.mint({ offer: name, runId, ids: questions.map(({ id }) => id) })
    return inputRequired({ inputRequests: requestsFor(questions), requestState })
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

/** Of the client, as far as it has said what it can do. */
function callingOf(server: McpServer, { mcpReq, http }: ServerContext): Calling {
  // the package has no type for what it puts there
  const told = (mcpReq.envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
  const capabilities = told ?? server.server.getClientCapabilities()
  const progressToken = mcpReq._meta?.progressToken
  // the older protocol keeps a request whose connection broke, and nobody could be given its answer any more
  const gone = http?.req?.signal
  let progress = 0
  return {
    signal: gone === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, gone]),
    canAsk: isObject(capabilities) && capabilities['elicitation'] !== undefined,
    onProgress(message) {
      if (progressToken === undefined) return
      progress += 1
      // a client that has gone hears no more
      mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
        .catch(() => undefined)
    },
  }
}

const decisionSchema = {
  type: 'object' as const,
  properties: {
    decision: { type: 'string' as const, title: 'Decision', enum: ['allow', 'deny'] },
    reason: { type: 'string' as const, title: 'Reason', description: 'Told to the model when the call is denied.' },
  },
  required: ['decision'],
}

/** Characters of an input, or of a difference, that are shown. */
const shownText = 4000

function requestsFor(questions: readonly ApprovalView[]): InputRequests {
  return Object.fromEntries(
    questions.map(({ id, tool, input, diff }) => {
      const shown = diff ?? JSON.stringify(input, undefined, 2)
      const message = `Allow ${tool}?\n\n${shown.length > shownText ? `${shown.slice(0, shownText)}…` : shown}`
      return [id, inputRequired.elicit({ message, requestedSchema: decisionSchema })]
    }),
  )
}

/** What is not an answer is a refusal. */
function answersIn({ ids }: WaitingRun, { mcpReq }: ServerContext): readonly Answer[] {
  return ids.map((id) => {
    const response = inputResponse(mcpReq.inputResponses, id)
    if (response.kind !== 'elicit' || response.action !== 'accept') return { id, decision: 'deny' }
    const { decision, reason } = response.content ?? {}
    if (decision === 'allow') return { id, decision }
    return { id, decision: 'deny', ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) }
  })
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
