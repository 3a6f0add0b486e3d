import type { z } from 'zod'
import { Refusal } from '../refusal.ts'

/** A route with its handler and its schemas, which validate requests and are published in the OpenAPI description. */
export interface Route {
  readonly method: 'get' | 'post'
  /** With `:name` for parameters. */
  readonly path: string
  readonly summary: string
  readonly status: number
  readonly query: z.ZodType | undefined
  readonly body: z.ZodType | undefined
  /** Undefined: server-sent events, described in docs/serve.md. */
  readonly gives: z.ZodType | undefined
  readonly respond: (request: Request, params: Params) => Promise<Response>
}

/** The parameters of a path, by name. */
export type Params = Readonly<Record<string, string>>

interface Asked<Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: Request
}

interface GetSpec<Query extends z.ZodType> {
  readonly path: string
  readonly summary: string
  readonly query: Query
}

/** A route that reads. It can also return a response with the JSON. */
export function get<Query extends z.ZodType>(
  { path, summary, query, gives }: GetSpec<Query> & { readonly gives: z.ZodType },
  read: (asked: Asked<z.output<Query>, undefined>) => Promise<object>,
): Route {
  return {
    method: 'get',
    path,
    summary,
    status: 200,
    query,
    body: undefined,
    gives,
    async respond(request, params) {
      const given = await read({ params, query: checked(query, queryOf(request)), body: undefined, request })
      return given instanceof Response ? given : Response.json(given)
    },
  }
}

/** A route that returns a stream of events. */
export function events<Query extends z.ZodType>(
  { path, summary, query }: GetSpec<Query>,
  open: (asked: Asked<z.output<Query>, undefined>) => Promise<Response>,
): Route {
  return {
    method: 'get',
    path,
    summary,
    status: 200,
    query,
    body: undefined,
    gives: undefined,
    respond: async (request, params) =>
      open({ params, query: checked(query, queryOf(request)), body: undefined, request }),
  }
}

interface PostSpec<Body extends z.ZodType> {
  readonly path: string
  readonly summary: string
  readonly body: Body
  readonly gives: z.ZodType
  /** 202: the request was accepted and is being processed. */
  readonly status?: 200 | 202
}

/** A route that changes something. */
export function post<Body extends z.ZodType>(
  { path, summary, body, gives, status = 202 }: PostSpec<Body>,
  change: (asked: Asked<undefined, z.output<Body>>) => Promise<object>,
): Route {
  return {
    method: 'post',
    path,
    summary,
    status,
    query: undefined,
    body,
    gives,
    async respond(request, params) {
      const given = checked(body, await readJson(request))
      return Response.json(await change({ params, query: undefined, body: given, request }), { status })
    },
  }
}

/** The body of a request as JSON; an empty one is `{}`. @throws Refusal 400 */
async function readJson(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not valid JSON')
  }
}

function queryOf({ url }: Request): object {
  return Object.fromEntries(new URL(url).searchParams)
}

/**
 * Validates what a client has sent against a schema.
 * @throws Refusal 400 that names the field and the problem
 */
function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}: `
  const fields = error.issues.flatMap(({ path, message }) =>
    path.length === 0 ? [] : [{ field: path.map(String).join('.'), message }],
  )
  throw new Refusal(400, `${where}${issue?.message ?? 'invalid'}`, {
    hint: '/openapi describes the expected format.',
    fields,
  })
}
