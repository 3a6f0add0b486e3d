import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'

// the page is compiled with the types of browsers, and tests are not
const module = '../../../src/page/live/listen.ts'

interface Listening {
  readonly on: Readonly<Record<string, (data: string) => void>>
  readonly onState: (state: string) => void
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
  vi.stubGlobal('localStorage', { getItem: () => null })
  onTestFinished(() => void vi.unstubAllGlobals())

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
