import { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { version } from '../../version.ts'
import type { Route } from './route.ts'
import { problem } from './schemas.ts'

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

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly security: readonly object[]
  /** By path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: object }
}

/** All routes as OpenAPI 3.1, generated from the schemas that validate requests. */
export function openApiOf(routes: readonly Route[]): OpenApi {
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
export function openApiPage({ paths, components }: ReturnType<typeof openApiOf>): string {
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
