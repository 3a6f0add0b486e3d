import { extname, join } from 'node:path'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { etag } from 'hono/etag'
import * as z from 'zod'
import { readdirSync, readFileSync } from 'node:fs'
import { defined, isObject } from '../../base/json.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { escapeMarkup } from '../../base/markup.ts'
import { packageRoot } from '../../package-root.ts'
import { issueText } from '../../settings/issue.ts'
import { type Limits, listenLocally, newSecret } from '../listen.ts'
import { createRunActions } from './change-runs.ts'
import { conversationRoutes } from './conversation-routes.ts'
import { createConversations } from './conversations.ts'
import { createEventStreams } from './event-stream.ts'
import { fileRoutes } from './file-routes.ts'
import { createActiveRuns } from './active-runs.ts'
import { createInbox } from './inbox.ts'
import { createListFeed } from './list-feed.ts'
import type { ComparisonLimits } from './read-runs.ts'
import { createRunFeeds } from './run-feed.ts'
import { runsRoutes } from './runs-routes.ts'
import { createShownRuns } from './shown-run.ts'
import { openServedWorkspace, type ServingPlace } from './served-workspace.ts'
import { isSame, type ClientKind } from '../gate.ts'
import { Refusal, refusalAnswer } from '../refusal.ts'
import { createBroker } from '../workers/broker.ts'
import { createWorkerPool } from '../workers/pool.ts'
import type { Route } from './route.ts'
import { hookName, type Hooks } from '../triggers/hooks.ts'
import { openTriggers } from '../triggers/triggers.ts'
import { triggersRoutes } from './triggers-routes.ts'
import { version } from '../../version.ts'
import { problem } from './schemas.ts'
import { sha256 } from '../../base/hash.ts'

/** Maximum size of a request body: a prompt and its inputs. */
const mostBodyBytes = 4 * 1024 * 1024
/** The same for webhooks, which come from elsewhere. */
const mostHookBytes = 1024 * 1024

const defaultRuns = 8
const defaultSpare = 2

export interface ServeOptions {
  /** 0: any free port. */
  readonly port: number
  readonly secret: string
  /** Maximum number of concurrent runs of this server; further ones wait. Default: `[serve] runs`. */
  readonly maxRuns?: number
  /** How many processes for runs are started ahead; default: 2. */
  readonly spare?: number
  /** The folder with the page. Default: the one of this installation. */
  readonly page?: string
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits>
  /** Overrides of the default limits of a comparison of two runs. */
  readonly comparison?: Partial<ComparisonLimits>
  /** What triggers take the time from. Default: that of the machine. */
  readonly clock?: Clock
  /** Called with what a person should know, in one line. */
  readonly onProblem?: (message: string) => void
}

export interface Serving {
  readonly port: number
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  /** The address of the page with a new ticket, which lets in the first browser that opens it. */
  readonly newAddress: () => string
  /** Stops accepting requests, ends streams, and stops the runs of this server so that they can be resumed. */
  readonly close: () => Promise<void>
}

/**
 * Serves the runs of a workspace to this machine: recorded runs, active runs of any process, and runs started through
 * the server.
 * @throws BatonError for invalid config files; USAGE if the port cannot be used
 */
export async function serveWorkspace(place: ServingPlace, options: ServeOptions): Promise<Serving> {
  const { port, secret, limits, comparison, page = join(packageRoot(), 'dist/bin/page') } = options
  const { spare = defaultSpare, clock = systemClock, onProblem = () => undefined } = options
  const served = await openServedWorkspace(place)
  const most = options.maxRuns ?? served.settings.serve?.runs ?? defaultRuns
  const { cwd, home, env } = served
  const broker = createBroker()
  const workers = createWorkerPool({ env, cwd, spare, broker })
  const held = createActiveRuns({ most, workers, broker, place: { cwd, home }, onProblem })
  const streams = createEventStreams()
  const shown = createShownRuns(served, held)
  const parts = { served, held, actions: createRunActions(served, held), streams, shown }
  for (const problem of served.found.problems) onProblem(issueText(problem))
  const triggers = await openTriggers({ ...parts, clock, follows: true, onProblem })
  const feeds = createRunFeeds(held)
  const { actions } = parts
  const conversations = createConversations(served, { held, takeWorker: workers.take, mostOpen: most })
  const routes = [
    ...runsRoutes({
      ...parts,
      conversations,
      feeds,
      list: createListFeed(served, { shown, held }),
      inbox: createInbox(served, shown, held),
      comparison,
    }),
    ...conversationRoutes({ conversations, actions }),
    ...fileRoutes(served),
    ...triggersRoutes(triggers),
  ]
  const pass = createPass(secret)
  const app = createApp({ routes, page: serveFolder(page), pass, hooks: triggers.hooks })
  const server = await listenLocally({
    port,
    mostBytes: mostBodyBytes,
    isKnown: pass.isKnown,
    isPublic,
    hooks: {
      publicHost: served.settings.serve?.public_host,
      mostBytes: mostHookBytes,
      nameIn: hookName,
      admit: triggers.hooks.admit,
    },
    answer: app,
    ...defined({ limits }),
  }).catch(async (error: unknown) => {
    triggers.close()
    await workers.close()
    throw error
  })
  const url = `http://127.0.0.1:${server.port}`
  return {
    port: server.port,
    url,
    newAddress: () => `${url}/#ticket=${pass.newTicket()}`,
    async close() {
      server.stopListening()
      triggers.close()
      await held.close()
      await workers.close()
      streams.close()
      await server.close()
    },
  }
}

/** The files of the page, and the exchange of a ticket. */
function isPublic(method: string, path: string): boolean {
  if (method === 'POST') return path === passPath
  return (method === 'GET' || method === 'HEAD') && (path === '/' || path.startsWith('/page/'))
}

interface AppParts {
  readonly routes: readonly Route[]
  readonly page: StaticFiles
  readonly pass: Pass
  readonly hooks: Hooks
}

/** Routes requests that have passed the gate. Every request gets a response. */
function createApp(parts: AppParts): (request: Request, who: ClientKind) => Promise<Response> {
  const { routes, hooks } = parts
  // a request without the secret can reach no other route, whatever its path looks like
  const open = withPublicRoutes(new Hono(), parts)
  const app = withPublicRoutes(new Hono(), parts)
  const openApi = openApiOf(routes)
  app.get('/openapi.json', () => Response.json(openApi))
  app.get('/openapi', ({ html }) => html(openApiPage(openApi)))
  for (const { method, path, respond } of routes) app[method](path, ({ req }) => respond(req.raw, req.param()))
  for (const path of ['/', '/page/*', passPath, '/openapi.json', '/openapi', ...routes.map((route) => route.path)]) {
    app.all(path, ({ req }) => {
      throw new Refusal(405, `${req.method} is not possible here`, { hint: '/openapi lists all routes.' })
    })
  }
  return async (request, who) => {
    if (who === 'hook') return hooks.answer(request)
    return (who === 'known' ? app : open).fetch(request)
  }
}

function withPublicRoutes(app: Hono, { page, pass }: AppParts): Hono {
  // all but streams of events
  app.use(compress())
  app.use('/page/*', etag())
  app.get('/', () => page.answer('index.html'))
  app.get('/page/*', ({ req }) => page.answer(decoded(req.path).slice('/page/'.length)))
  app.post(passPath, ({ req }) => Response.json({ token: pass.exchange(req.header('authorization') ?? '') }))
  app.notFound(() => refusalAnswer(new Refusal(404, 'no such route', { hint: '/openapi lists all routes.' })))
  app.onError(refusalAnswer)
  return app
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Refusal(404, 'no such file')
  }
}

type Schema = Readonly<Record<string, unknown>>
type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Operation {
  readonly summary: string
  readonly parameters: readonly object[]
  readonly requestBody?: {
    readonly required: true
    readonly content: { readonly 'application/json': { readonly schema: Schema } }
  }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>
}

interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly security: readonly object[]
  /** By path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: object }
}

/** All routes as OpenAPI 3.1, generated from the schemas that validate requests. */
function openApiOf(routes: readonly Route[]): OpenApi {
  const named: Record<string, Schema> = {}
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operationOf(route, named) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'baton serve',
      version,
      description: 'See docs/serve.md. GET /api/events and GET /api/runs/{id}/events return server-sent events.',
    },
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: named,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function operationOf({ path, summary, status, query, body, gives }: Route, named: Record<string, Schema>): Operation {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
  const inQuery = query === undefined ? [] : queryParameters(schemaOf(query, 'input', named))
  const json = (schema: z.ZodType, io: 'input' | 'output') => ({
    'application/json': { schema: schemaOf(schema, io, named) },
  })
  const good = gives === undefined ? { 'text/event-stream': { schema: { type: 'string' } } } : json(gives, 'output')
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body, 'input') } }),
    responses: {
      [status]: { description: summary, content: good },
      default: { description: 'Refused', content: json(problem, 'output') },
    },
  }
}

/** The schema of a type. Named schemas are collected in `named` and referenced. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', named: Record<string, Schema>): Schema {
  const { $schema: _, $defs = {}, ...made } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  const { id, ...rest } = made
  const all = typeof id === 'string' ? { ...$defs, [id]: rest } : $defs
  for (const [name, one] of Object.entries(all)) named[name] = relocated(one)
  return typeof id === 'string' ? { $ref: `#/components/schemas/${id}` } : relocated(made)
}

/** Points references to the named schemas under `components`. */
function relocated(schema: object): Schema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')
  return JSON.parse(text) as Schema
}

function queryParameters({ properties, required }: Schema): readonly object[] {
  if (!isObject(properties)) return []
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: Array.isArray(required) && required.includes(name),
    schema,
  }))
}

/** The same as an HTML page: a section for each operation, then the named schemas. */
function openApiPage({ paths, components }: ReturnType<typeof openApiOf>): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, parameters, requestBody, responses }]) => {
      const takes = { parameters, body: requestBody?.content['application/json'].schema }
      const heading = `<h2><code>${method.toUpperCase()} ${escapeMarkup(path)}</code></h2><p>${escapeMarkup(summary)}.</p>`
      return `<section>${heading}${details('Request', takes)}${details('Responses', responses)}</section>`
    }),
  )
  const schemas = Object.entries(components.schemas).map(([name, schema]) => details(name, schema))
  const title = 'baton serve API'
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>`
  const intro = `<h1>${title}</h1><p>As OpenAPI JSON: <a href="/openapi.json">/openapi.json</a></p>`
  const main = `${intro}${operations.join('')}<section><h2>Schemas</h2>${schemas.join('')}</section>`
  return `<!doctype html><html lang="en"><head>${head}</head><body><main>${main}</main></body></html>`
}

function details(title: string, data: unknown): string {
  return `<details><summary>${title}</summary><pre>${escapeMarkup(JSON.stringify(data, undefined, 2))}</pre></details>`
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

interface StaticFiles {
  /** @throws Refusal 404 for any other name */
  readonly answer: (name: string) => Response
}

/**
 * Serves the files that a folder contains when this is called. Requested names are looked up and never become paths.
 */
function serveFolder(folder: string): StaticFiles {
  const files = new Map(filesIn(folder).map((name) => [name, join(folder, name)]))
  return {
    answer(name) {
      const file = files.get(name)
      if (file === undefined) {
        throw new Refusal(404, files.size === 0 ? 'this build of baton has no page' : 'no such file')
      }
      const type = contentTypes[extname(file)] ?? 'application/octet-stream'
      return new Response(new Uint8Array(readFileSync(file)), {
        headers: { 'content-type': type, 'cache-control': 'no-cache' },
      })
    },
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  } catch {
    return []
  }
}

/** Where the page exchanges a ticket for a token. The ticket is in a header, because no body of a stranger is read. */
const passPath = '/session'

/** Tickets and tokens that are kept; the oldest ones are forgotten. */
const mostTickets = 16
const mostTokens = 256

/**
 * Who may have data: programs that know the secret, and pages with a token of this server. A page never gets the secret,
 * and a token is worth nothing after the server has ended.
 */
interface Pass {
  readonly isKnown: (bearer: string) => boolean
  /** A ticket for the address of the page. It can be exchanged once. */
  readonly newTicket: () => string
  /** The token for the ticket of an `Authorization: Ticket …` header. @throws Refusal 401 */
  readonly exchange: (authorization: string) => string
}

function createPass(secret: string): Pass {
  // as hashes, so that looking one up reveals nothing by its time
  const tickets = new Set<string>()
  const tokens = new Set<string>()
  return {
    isKnown: (bearer) => isSame(bearer, secret) || tokens.has(sha256(bearer)),
    newTicket: () => added(tickets, mostTickets),
    exchange(authorization) {
      const ticket = /^Ticket (.+)$/.exec(authorization)?.[1] ?? ''
      if (tickets.delete(sha256(ticket))) return added(tokens, mostTokens)
      throw new Refusal(401, 'this address was already opened, or belongs to an earlier server', {
        hint: 'Press Enter in the terminal of baton serve, and open the address that it prints.',
      })
    },
  }
}

function added(hashes: Set<string>, most: number): string {
  const value = newSecret()
  const [oldest] = hashes
  if (oldest !== undefined && hashes.size >= most) hashes.delete(oldest)
  hashes.add(sha256(value))
  return value
}
