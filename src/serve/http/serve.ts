import { join } from 'node:path'
import { defined } from '../../base/json.ts'
import { packageRoot } from '../../package-root.ts'
import { type Limits, listenLocally } from '../listen.ts'
import { createApp } from './app.ts'
import { createRunActions } from './change-runs.ts'
import { conversationRoutes } from './conversation-routes.ts'
import { createConversations } from './conversations.ts'
import { createEventStreams } from './event-stream.ts'
import { filesRoutes } from './files-routes.ts'
import { createPass, passPath } from './pass.ts'
import { createHeldRuns } from './held-runs.ts'
import { createListFeed } from './list-feed.ts'
import type { ComparisonLimits } from './read-runs.ts'
import { createRunFeeds } from './run-feed.ts'
import { runsRoutes } from './runs-routes.ts'
import { openServed, type ServingPlace } from './served.ts'
import { serveFolder } from './static.ts'

/** Maximum size of a request body: a prompt and its inputs. */
const mostBodyBytes = 4 * 1024 * 1024

export interface ServeOptions {
  /** 0: any free port. */
  readonly port: number
  readonly secret: string
  /** Maximum number of concurrent runs of this server. */
  readonly maxRuns: number
  /** The folder with the page. Default: the one of this installation. */
  readonly page?: string
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits>
  /** Overrides of the default limits of a comparison of two runs. */
  readonly comparison?: Partial<ComparisonLimits>
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
  const { port, secret, maxRuns, limits, comparison, page = join(packageRoot(), 'dist/bin/page') } = options
  const served = await openServed(place)
  const held = createHeldRuns({ most: maxRuns, runs: served.runs })
  const streams = createEventStreams()
  const parts = { served, held, actions: createRunActions(served, held), streams }
  const feeds = createRunFeeds(held.isHeld)
  const { actions } = parts
  const routes = [
    ...runsRoutes({ ...parts, feeds, list: createListFeed(served.runs), comparison }),
    ...conversationRoutes({ conversations: createConversations(served, held), actions }),
    ...filesRoutes(served),
  ]
  const pass = createPass(secret)
  const app = createApp({ routes, page: serveFolder(page), pass })
  const server = await listenLocally({
    port,
    mostBytes: mostBodyBytes,
    isKnown: pass.isKnown,
    isPublic,
    answer: app,
    ...defined({ limits }),
  })
  const url = `http://127.0.0.1:${server.port}`
  return {
    port: server.port,
    url,
    newAddress: () => `${url}/#ticket=${pass.newTicket()}`,
    async close() {
      server.stopListening()
      await held.close()
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
