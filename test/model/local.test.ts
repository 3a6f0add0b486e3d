import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { findLocalModel, type HostModel } from '../../src/model/local.ts'

const never = new AbortController().signal
const servers: Server[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => close(server)))
})

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A model server with these ids. */
function models(...ids: readonly string[]): Promise<number> {
  return serve((request, response) => {
    if (request.url !== '/v1/models') return response.writeHead(404).end('{}')
    return response.end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) }))
  })
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const port = await serve((_, response) => response.end())
  const server = servers.pop()
  if (server !== undefined) await close(server)
  return port
}

/** Uses only ports of this test: programs on this machine are never contacted. */
async function find(ports: { readonly [provider: string]: number }): Promise<HostModel | undefined> {
  const nobody = await closedPort()
  return findLocalModel({
    env: {},
    signal: never,
    ports: { ollama: nobody, lmstudio: nobody, 'llama-server': nobody, ...ports },
  })
}

describe('a search for a local server', () => {
  it('returns the first model of a server that lists one', async () => {
    const port = await models('first', 'second')
    expect(await find({ lmstudio: port })).toMatchObject({
      model: 'first',
      provider: {
        name: 'lmstudio',
        baseUrl: `http://127.0.0.1:${port}/v1`,
        format: 'chat',
        isFree: true,
        keyRequired: false,
      },
    })
  })

  it('prefers the order of the table to the fastest answer', async () => {
    const [ollama, llamaServer] = await Promise.all([models('a'), models('b')])
    expect(await find({ 'llama-server': llamaServer, ollama })).toMatchObject({ model: 'a' })
  })

  it('ignores embedding models, and servers that have nothing else', async () => {
    const [ollama, lmstudio] = await Promise.all([
      models('nomic-embed-text:latest'),
      models('text-embedding-x', 'chat'),
    ])
    expect(await find({ ollama, lmstudio })).toMatchObject({ model: 'chat', provider: { name: 'lmstudio' } })
  })

  it.each([
    ['nothing listens', undefined],
    ['it lists nothing', (_: unknown, response: Parameters<RequestListener>[1]) => response.end('{"data":[]}')],
    ['it is something else', (_: unknown, response: Parameters<RequestListener>[1]) => response.end('<html>')],
    ['it answers other JSON', (_: unknown, response: Parameters<RequestListener>[1]) => response.end('[{"id":1}]')],
    [
      'it wants a key',
      (_: unknown, response: Parameters<RequestListener>[1]) => response.writeHead(401).end('{"data":[{"id":"m"}]}'),
    ],
    [
      'it sends elsewhere',
      (_: unknown, response: Parameters<RequestListener>[1]) => response.writeHead(302, { location: '/' }).end(),
    ],
    ['it does not answer', () => undefined],
    [
      'it never ends its answer',
      (_: unknown, response: Parameters<RequestListener>[1]) => void response.write('{"data":[{"id":"m"}'),
    ],
  ])('finds none when %s', async (_, listener) => {
    const port = listener === undefined ? await closedPort() : await serve(listener)
    expect(await find({ ollama: port })).toBeUndefined()
  })

  it('contacts the address in OLLAMA_HOST, and no other machine', async () => {
    const port = await models('mine')
    const asked: string[] = []
    const search = async (OLLAMA_HOST: string): Promise<HostModel | undefined> => {
      return findLocalModel({
        env: { OLLAMA_HOST },
        signal: never,
        fetch: (url, init) => {
          const text = url instanceof Request ? url.url : String(url)
          asked.push(text)
          return text.includes(`:${port}/`) ? fetch(url, init) : Promise.reject(new Error('refused'))
        },
      })
    }
    expect(await search(`0.0.0.0:${port}`)).toMatchObject({
      model: 'mine',
      provider: { name: 'ollama', baseUrl: `http://127.0.0.1:${port}/v1` },
    })
    expect(await search('http://box.example')).toBeUndefined()
    expect(await search('no address')).toBeUndefined()
    expect(asked.filter((url) => !url.startsWith('http://127.0.0.1:'))).toEqual([])
    expect(asked).toContain('http://127.0.0.1:1234/v1/models')
    expect(asked).toContain('http://127.0.0.1:8080/v1/models')
  })

  it('is skipped when BATON_LOCAL_SERVERS is off', async () => {
    const search = { env: { BATON_LOCAL_SERVERS: 'off' }, signal: never, ports: { ollama: await models('m') } }
    expect(await findLocalModel({ ...search, fetch: () => Promise.reject(new Error('asked')) })).toBeUndefined()
    expect(await findLocalModel(search)).toBeUndefined()
  })

  it('ends with the reason when it is aborted', async () => {
    const stop = new AbortController()
    const nobody = await closedPort()
    const port = await serve(() => stop.abort(new Error('enough')))
    const ports = { ollama: port, lmstudio: nobody, 'llama-server': nobody }
    await expect(findLocalModel({ env: {}, signal: stop.signal, ports })).rejects.toThrow('enough')
    await expect(findLocalModel({ env: {}, signal: stop.signal, ports })).rejects.toThrow('enough')
  })
})
