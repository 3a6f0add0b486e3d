import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'

// the page is compiled with the types of browsers, and tests are not
const module = '../../../src/page/live/listen.ts'

interface Listening {
  readonly on: Readonly<Record<string, (data: string) => void>>
  readonly onState: (state: string) => void
}

/** The page of a browser, which is looked at. */
function stubPage(): { readonly see: (visibilityState: 'visible' | 'hidden') => void } {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  vi.stubGlobal('document', page)
  vi.stubGlobal('localStorage', { getItem: () => null })
  onTestFinished(() => void vi.unstubAllGlobals())
  return {
    see(visibilityState) {
      page.visibilityState = visibilityState
      page.dispatchEvent(new Event('visibilitychange'))
    },
  }
}

it('a broken stream is reopened with the id of the last event, but not after it was refused', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    asked.push(headers['last-event-id'] as string | undefined)
    if (asked.length > 1) return void response.writeHead(401).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('id: 1.7\nevent: row\ndata: one\n\nid: 1.8\nevent: row\ndata: half of', () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  stubPage()

  const { listen } = (await import(module)) as { readonly listen: (path: string, options: Listening) => () => void }
  const seen: string[] = []
  const states: string[] = []
  const { port } = server.address() as AddressInfo
  const stop = listen(`http://127.0.0.1:${port}/events`, {
    on: { row: (data) => seen.push(data) },
    onState: (state) => states.push(state),
  })
  onTestFinished(stop)
  await expect.poll(() => states, { timeout: 30_000 }).toEqual(['connecting', 'open', 'lost', 'lost'])
  expect(asked).toEqual([undefined, '1.7'])
  expect(seen).toEqual(['one'])
})

it('a page that nobody looks at keeps no connection, and then goes on after the last event', async () => {
  const asked: (string | undefined)[] = []
  let connections = 0
  const server = createServer(({ headers }, response) => {
    asked.push(headers['last-event-id'] as string | undefined)
    connections += 1
    response.once('close', () => (connections -= 1))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`id: 1.${asked.length}\nevent: row\ndata: ${asked.length}\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { see } = stubPage()
  see('hidden')

  const { listen } = (await import(module)) as { readonly listen: (path: string, options: Listening) => () => void }
  const seen: string[] = []
  const states: string[] = []
  const { port } = server.address() as AddressInfo
  const stop = listen(`http://127.0.0.1:${port}/events`, {
    on: { row: (data) => seen.push(data) },
    onState: (state) => states.push(state),
  })
  onTestFinished(stop)
  // a request that is sent after it is answered before it
  await (await fetch(`http://127.0.0.1:${port}/events`)).body?.cancel()
  expect(asked.splice(0)).toEqual([undefined])
  see('visible')
  await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['1'])
  see('hidden')
  await expect.poll(() => connections, { timeout: 20_000 }).toBe(0)
  see('visible')
  await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['1', '2'])
  expect(asked).toEqual([undefined, '1.1'])
  expect(states).toEqual(['connecting', 'open', 'open'])
})
