import type { Fired } from '../triggers/starts.ts'
import type { Triggers } from '../triggers/triggers.ts'
import { get, post, type Route } from './route.ts'
import * as schemas from './schemas.ts'

/** The routes for the triggers of the workspace. Webhooks are none of them: they have a door of their own. */
export function triggersRoutes(triggers: Triggers): readonly Route[] {
  return [
    get(
      {
        path: '/api/triggers',
        summary: 'The triggers of the workspace, with their last and next start',
        query: schemas.noQuery,
        gives: schemas.triggerList,
      },
      () => triggers.list(),
    ),
    post(
      {
        path: '/api/triggers/:name/start',
        summary: 'Starts a trigger by hand',
        body: schemas.noBody,
        gives: schemas.fired,
      },
      async ({ params }) => firedJson(await triggers.startByHand(params['name'] ?? '')),
    ),
  ]
}

function firedJson(fired: Fired): object {
  if (fired.kind === 'started') return { state: fired.kind, id: fired.run }
  return fired.kind === 'queued' ? { state: fired.kind } : { state: fired.kind, message: fired.message }
}
