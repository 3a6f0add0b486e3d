import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cutText } from '../../base/cut-text.ts'
import { BatonError } from '../../base/error.ts'
import { harmlessName } from '../../base/terminal-text.ts'

export interface Callback {
  /** The redirect URL. */
  readonly url: string
  /**
   * The parameters of the redirect whose state matches. Rejects with the signal's reason, and when the login was
   * refused.
   */
  readonly answer: (state: string, signal: AbortSignal) => Promise<URLSearchParams>
  readonly close: () => void
}

const page = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><title>Baton</title><body style="font:1rem sans-serif;margin:4rem">${text}`

/**
 * Listens on the loopback interface for the redirect of a login. `port`: the preferred port; if it is taken, any free
 * one.
 */
export async function openCallback(port?: number): Promise<Callback> {
  let take: ((params: URLSearchParams) => boolean) | undefined
  const server = createServer((request, response) => {
    // `//` is a path here; anybody can send a request target that does not parse as a URL
    const address = `http://127.0.0.1${request.url ?? '/'}`
    const { pathname, searchParams } = new URL(URL.canParse(address) ? address : 'http://127.0.0.1/')
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.setHeader('connection', 'close')
    if (pathname !== '/callback') return void response.writeHead(404).end(page('Not found.'))
    const isTaken = take?.(searchParams) === true
    const text = isTaken
      ? 'Baton has received the answer. You can close this window.'
      : 'This is not the login that Baton is waiting for.'
    response.writeHead(isTaken ? 200 : 400).end(page(text))
  })
  const bound = await bind(port).catch((error: unknown) => {
    if (port === undefined) throw error
    return bind()
  })

  function bind(wanted = 0): Promise<number> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, '127.0.0.1', () => {
        server.off('error', reject)
        resolve((server.address() as AddressInfo).port)
      })
    })
  }

  return {
    url: `http://127.0.0.1:${bound}/callback`,
    answer(state, signal) {
      return new Promise((resolve, reject) => {
        const stop = (): void => reject(signal.reason as Error)
        if (signal.aborted) return stop()
        signal.addEventListener('abort', stop, { once: true })
        take = (params) => {
          if (params.get('state') !== state) return false
          take = undefined
          signal.removeEventListener('abort', stop)
          const error = params.get('error')
          if (error === null) resolve(params)
          else reject(refused(error, params.get('error_description')))
          return true
        }
      })
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Maximum characters of a reason that a server gives. */
const mostWhy = 1_000

function refused(error: string, description: string | null): BatonError {
  const why = description === null ? error : `${error}: ${description}`
  return new BatonError('KEY_REFUSED', `the login was refused: ${harmlessName(cutText(why, mostWhy))}`, {
    hint: 'Try again, or contact whoever runs the server.',
  })
}
