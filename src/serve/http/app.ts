import { Hono } from 'hono'
import { z } from 'zod'
import type { Passed } from '../gate.ts'
import { Refusal, refusalAnswer } from '../refusal.ts'
import type { Route } from './route.ts'
import { type Pass, passPath } from './pass.ts'
import type { StaticFiles } from './static.ts'
import { isObject } from '../../base/json.ts'
import { version } from '../../version.ts'
import { problem } from './schemas.ts'

export interface AppParts {
  readonly routes: readonly Route[]
  readonly page: StaticFiles
  readonly pass: Pass
}

/** Routes requests that have passed the gate. Every request gets a response. */
export function createApp(parts: AppParts): (request: Request, who: Passed) => Promise<Response> {
  const { routes } = parts
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
  return async (request, who) => (who === 'known' ? app : open).fetch(request)
}

function withPublicRoutes(app: Hono, { page, pass }: AppParts): Hono {
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
      const heading = `<h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2><p>${escaped(summary)}.</p>`
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
  return `<details><summary>${title}</summary><pre>${escaped(JSON.stringify(data, undefined, 2))}</pre></details>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
