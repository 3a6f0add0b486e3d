import { Hono } from 'hono'
import { withSecurity } from './gate.ts'
import { openApiOf, openApiPage } from './openapi.ts'
import { Refusal, refusalAnswer } from './refusal.ts'
import type { Route } from './route.ts'
import type { StaticFiles } from './static.ts'

export interface AppParts {
  readonly routes: readonly Route[]
  readonly page: StaticFiles
}

/** Routes authorized requests. Every request gets a response. */
export function createApp({ routes, page }: AppParts): (request: Request) => Promise<Response> {
  const app = new Hono()
  const openApi = openApiOf(routes)
  app.get('/', () => page.answer('index.html'))
  app.get('/page/*', ({ req }) => page.answer(decoded(req.path).slice('/page/'.length)))
  app.get('/openapi.json', () => Response.json(openApi))
  app.get('/openapi', ({ html }) => html(openApiPage(openApi)))
  for (const { method, path, respond } of routes) app[method](path, ({ req }) => respond(req.raw, req.param()))
  app.notFound(() => refusalAnswer(new Refusal(404, 'no such route', { hint: '/openapi lists all routes.' })))
  app.onError(refusalAnswer)
  return async (request) => withSecurity(await app.fetch(request))
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new Refusal(404, 'no such file')
  }
}
