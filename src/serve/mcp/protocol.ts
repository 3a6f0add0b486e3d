import { randomBytes } from 'node:crypto'
import { type Readable, Transform, type Writable } from 'node:stream'
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
import { isObject, type JsonObject, parseSentJson } from '../../base/json.ts'
import { version } from '../../version.ts'
import type { Calls, Decision, ClientReply } from './call.ts'
import type { CallEnd } from './call-end.ts'
import type { Calling, PendingQuestion } from './pending-calls.ts'
import type { Offer } from './offer.ts'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import { callLines, withNumbers } from '../../render/approval.ts'
import { cutText } from '../../base/cut-text.ts'
import type { ApprovalView } from '../../event/action-view.ts'
import type { ServerAnswer } from '../../library/server-questions.ts'

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
const defaultSessions = 256

/**
 * Serves clients over streamable HTTP. Clients of the newer protocol need no session. Those of the older one get a
 * session, because they can be asked for approvals only within one.
 */
export function serveWeb(
  offered: Offered,
  { mostSessions = defaultSessions }: { readonly mostSessions?: number } = {},
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

type OpenEnd = Exclude<CallEnd, { readonly kind: 'ended' }>

/**
 * State that a client returns with the user's answers. It is signed, so it cannot name another run, and bound to one
 * offer.
 */
type WaitingRun = {
  readonly offer: string
  readonly kind: OpenEnd['kind']
  readonly runId: string
  readonly ids: readonly string[]
}

function stateOf({ kind, runId, questions }: OpenEnd, offer: string): WaitingRun {
  return { offer, kind, runId, ids: questions.map(({ id }) => id) }
}

/** What a client can show, by its capability `elicitation`. Without any kind, it can show forms. */
function clientShows(elicitation: unknown): Calling['shows'] {
  if (!isObject(elicitation)) return { form: false, url: false }
  const url = elicitation['url'] !== undefined
  return { form: elicitation['form'] !== undefined || !url, url }
}

/** What can be answered. Forms of the protocol are flat, and lists are not in all of its versions: hunks are a text. */
function decisionSchema(hunks: number | undefined): JsonObject {
  const some = {
    type: 'string',
    title: 'Hunks',
    description: `With allow: only these of the ${hunks} hunks, for example 1,3. Empty: all of them.`,
  }
  const what = hunks === undefined ? 'the call is denied' : 'the call, or a hunk of it, is denied'
  return {
    type: 'object',
    properties: {
      decision: { type: 'string', title: 'Decision', enum: ['allow', 'deny'] },
      ...(hunks === undefined ? {} : { hunks: some }),
      reason: { type: 'string', title: 'Reason', description: `Passed on to the model if ${what}.` },
    },
    required: ['decision'],
  }
}

/** Maximum characters shown of an input, a diff, or a message of a server. */
const shownText = 4000

/** A question as the client shows it. */
type ShownQuestion =
  | { readonly kind: 'form'; readonly message: string; /** Flat, of type object. */ readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }

/** The questions for the user of a client, by id. */
function shownQuestions(end: OpenEnd): readonly (readonly [id: string, ShownQuestion])[] {
  return end.kind === 'approvals'
    ? end.questions.map((question) => [question.id, shownApproval(question)])
    : end.questions.map((question) => [question.id, shownServerQuestion(question)])
}

/** Like in a terminal: what the answer says, which change of how many it is, and what would be done. */
function shownApproval({ tool, hunks, review, ...call }: ApprovalView): ShownQuestion {
  const { number = 1, count = 1, explanation = '' } = review ?? {}
  const numbered = hunks === undefined ? call : withNumbers(call)
  const message = [
    harmlessLines(explanation),
    `${count > 1 ? `${number} of ${count}: ` : ''}Allow ${harmlessName(tool)}?`,
    cutText(callLines(numbered, (_, text) => text).lines.join('\n'), shownText),
  ]
  return { kind: 'form', message: message.filter((text) => text !== '').join('\n\n'), schema: decisionSchema(hunks) }
}

/** Names the server that asks: users trust the client, and maybe Baton, but may not know the server. */
function shownServerQuestion({ question }: PendingQuestion): ShownQuestion {
  const message = `The MCP server ${question.server} asks:\n\n${cutText(question.message, shownText)}`
  return question.kind === 'url'
    ? { kind: 'url', message, url: question.url }
    : { kind: 'form', message, schema: question.schema }
}

/** A client's response to a question; undefined: none, or not a valid one. */
type ClientResponse =
  | { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: { readonly [name: string]: unknown } }
  | undefined

/** The responses of a client for a waiting run. */
function givenIn({ kind, runId, ids }: WaitingRun, responseTo: (id: string) => ClientResponse): ClientReply {
  if (kind === 'approvals') return { kind, runId, decisions: ids.map((id) => decisionOf(id, responseTo(id))) }
  return { kind, runId, answers: new Map(ids.map((id) => [id, answerOf(responseTo(id))])) }
}

/** Anything that is not an answer denies the call. */
function decisionOf(id: string, response: ClientResponse): Decision {
  if (response?.action !== 'accept') return { id, decision: 'deny' }
  const { decision, reason, hunks } = response.content ?? {}
  const said = typeof reason === 'string' && reason !== '' ? { reason } : {}
  if (decision !== 'allow') return { id, decision: 'deny', ...said }
  if (typeof hunks !== 'string' || hunks.trim() === '') return { id, decision }
  const numbers = readNumbers(hunks)
  // what was meant is not known
  return numbers === undefined ? { id, decision: 'deny', ...said } : { id, decision, hunks: numbers, ...said }
}

/** `1,3` or `1 3`; undefined for anything else. */
function readNumbers(text: string): readonly number[] | undefined {
  const words = text.split(/[\s,;]+/).filter((word) => word !== '')
  return words.every((word) => /^[1-9]\d{0,5}$/.test(word)) ? words.map(Number) : undefined
}

/** A missing answer is undefined, and the question is asked again. */
function answerOf(response: ClientResponse): ServerAnswer | undefined {
  if (response?.action !== 'accept') return response?.action
  return { accept: (response.content ?? {}) as JsonObject }
}

interface InputChecks {
  /** Bytes of a message. */
  readonly mostBytes: number
  readonly output: Writable
}

const codes = { notJson: -32_700, invalid: -32_600 } as const

/**
 * Passes on the lines of a client that are JSON of a usual depth and length, and answers the other ones with an error:
 * the protocol's library would end the server, or never answer.
 */
export function checkedInput({ mostBytes, output }: InputChecks): Transform {
  let begun: Buffer[] = []
  let bytes = 0

  function refuse(code: number, message: string, id: unknown = null): void {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`)
  }

  /** Adds a piece of a line, unless that has become too long. */
  function keep(piece: Buffer): void {
    bytes += piece.length
    if (bytes > mostBytes) begun = []
    else begun.push(piece)
  }

  function take(): string | undefined {
    const [line, size] = [Buffer.concat(begun).toString('utf8'), bytes]
    begun = []
    bytes = 0
    if (size > mostBytes) {
      refuse(codes.invalid, `the message has ${size} bytes; at most ${mostBytes} are read`)
      return undefined
    }
    if (line.trim() === '') return undefined
    try {
      const message = parseSentJson(line)
      if (isObject(message) && message['jsonrpc'] === '2.0') return `${line}\n`
      refuse(codes.invalid, 'the message is not an object of JSON-RPC 2.0')
      return undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isDeep = reason.startsWith('values nested')
      if (isDeep) refuse(codes.invalid, `the message has ${reason}`, idOf(line))
      else refuse(codes.notJson, `the message is not JSON: ${reason.slice(0, 200)}`)
      return undefined
    }
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let start = 0; start < chunk.length;) {
        const newline = chunk.indexOf(0x0a, start)
        keep(chunk.subarray(start, newline === -1 ? chunk.length : newline))
        if (newline === -1) break
        start = newline + 1
        const line = take()
        if (line !== undefined) this.push(line)
      }
      done()
    },
    flush(done) {
      const line = bytes === 0 ? undefined : take()
      if (line !== undefined) this.push(line)
      done()
    },
  })
}

/** So that the client knows which of its requests has failed. */
function idOf(line: string): string | number | null {
  const message: unknown = JSON.parse(line)
  const id = isObject(message) ? message['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** A session of a client of the older protocol. */
interface Session {
  handleRequest(request: Request): Promise<Response>
  /** Whether a request is in progress. */
  isBusy(): boolean
  close(): Promise<void>
}

/** Sessions of clients. A busy session is never closed to make room for another. */
interface Sessions {
  /** Returns a session and marks it as most recently used. */
  use(id: string): Session | undefined
  /** Whether a session can be opened: there is room, or one is idle. */
  hasRoom(): boolean
  /** Adds a session. If there is no room, closes the one that has been idle longest. */
  add(id: string, session: Session): void
  delete(id: string): void
  close(): Promise<void>
}

function createSessions(most: number): Sessions {
  /** In order of last use, the most recent last. */
  const all = new Map<string, Session>()

  const oldestIdle = (): Session | undefined => [...all.values()].find((session) => !session.isBusy())

  return {
    use(id) {
      const session = all.get(id)
      if (session === undefined) return undefined
      all.delete(id)
      all.set(id, session)
      return session
    },
    hasRoom: () => all.size < most || oldestIdle() !== undefined,
    add(id, session) {
      if (all.size >= most) void oldestIdle()?.close()
      all.set(id, session)
    },
    delete: (id) => void all.delete(id),
    async close() {
      await Promise.all([...all.values()].map((session) => session.close()))
    },
  }
}

interface OpenRequests {
  readonly isEmpty: () => boolean
  readonly received: (message: unknown) => void
  readonly sent: (message: unknown) => void
}

/**
 * Tracks the unanswered requests of a client by the messages received and sent. A cancelled request gets no answer, and
 * its stream may stay open.
 */
function createOpenRequests(): OpenRequests {
  const open = new Set<unknown>()
  return {
    isEmpty: () => open.size === 0,
    received(message: unknown): void {
      if (!isObject(message)) return
      const { id, method, params } = message
      if (method === 'notifications/cancelled' && isObject(params)) open.delete(params['requestId'])
      else if (method !== undefined && id !== undefined) open.add(id)
    },
    sent(message: unknown): void {
      if (isObject(message) && message['method'] === undefined) open.delete(message['id'])
    },
  }
}
