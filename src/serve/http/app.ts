import { Hono } from 'hono'
import type { Passed } from '../gate.ts'
import { openApiOf, openApiPage } from './openapi.ts'
import { Refusal, refusalAnswer } from '../refusal.ts'
import type { Route } from './route.ts'
import { type Pass, passPath } from './pass.ts'
import type { StaticFiles } from './static.ts'

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
