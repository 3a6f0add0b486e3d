import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

/** Two servers on separate ports: a different port is a different host. */
const seen: { readonly port: number; readonly request: IncomingMessage; readonly body: string }[] = []
const servers: Server[] = []
const ports: number[] = []

beforeAll(async () => {
  for (let made = 0; made < 2; made += 1) {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { port } = server.address() as AddressInfo
        seen.push({ port, request, body: Buffer.concat(chunks).toString() })
        const url = new URL(request.url ?? '/', 'http://host')
        const location = url.searchParams.get('to')
        if (url.pathname === '/drip') {
          response.writeHead(200)
          const drip = setInterval(() => response.write('.'), 20)
          return void response.on('close', () => clearInterval(drip))
        }
        if (location === null) return void response.end('reached')
        response.writeHead(Number(url.searchParams.get('status') ?? 302), { location }).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    ports.push((server.address() as AddressInfo).port)
  }
})

afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

const pack = (hosts: string): Files => ({
  '.baton/packs/own/p/pack.toml': `[pack]\nnamespace = "own"\nname = "p"\nversion = "1.0.0"\n[capabilities]\nhosts = [${hosts}]\n`,
  '.baton/packs/own/p/main.lua':
    'local ok, said = pcall(aip.web.get, input, { timeout_ms = 5000 })\nreturn ok and said.content or tostring(said)\n',
})

const spellings: Readonly<Record<string, (port: number) => string>> = {
  'as it is': (port) => `http://127.0.0.1:${port}/`,
  'by name': (port) => `http://localhost:${port}/`,
  'as a number': (port) => `http://2130706433:${port}/`,
  'in octal': (port) => `http://0177.0.0.1:${port}/`,
  'in hexadecimal': (port) => `http://0x7f000001:${port}/`,
  shortened: (port) => `http://127.1:${port}/`,
  'mapped into IPv6': (port) => `http://[::ffff:127.0.0.1]:${port}/`,
  'as nobody': (port) => `http://0.0.0.0:${port}/`,
  'with a name for the user': (port) => `http://example.com@127.0.0.1:${port}/`,
  'in wide characters': (port) => `http://１２７.0.0.1:${port}/`,
}

attack('a pack reaches a private address only where it names the host', { core: spellings }, async (spelled) => {
  const world = createWorld({ work: pack('"*"') })
  const [port = 0] = ports
  const before = seen.length
  const end = await world.run(['own@p', '-i', spelled(port)])
  expectHeld(world, end, [0])
  expect(end.stdout).toMatch(/own@p may not connect to \S+:\d+, a private address/)
  expect(seen.length).toBe(before)
})

it('a pack can access a private address that it names, but no other one by a redirect', async () => {
  const [first = 0, second = 0] = ports
  const world = createWorld({ work: pack(`"127.0.0.1:${first}"`) })
  const end = await world.run(['own@p', '-i', `http://127.0.0.1:${first}/`])
  expectHeld(world, end, [0])
  expect(end.stdout).toBe('reached\n')
  const before = seen.length
  const led = await world.run(['own@p', '-i', `http://127.0.0.1:${first}/?to=http://127.0.0.1:${second}/`])
  expectHeld(world, led, [0])
  expect(led.stdout).toContain(`own@p may not connect to 127.0.0.1:${second}`)
  expect(seen.slice(before).map(({ port }) => port)).toEqual([first])
})

it('an installed pack without capabilities cannot access private addresses, but an agent of the workspace can', async () => {
  const [port = 0] = ports
  const world = createWorld({
    work: {
      'pack/pack.toml': '[pack]\nnamespace = "other"\nname = "p"\nversion = "1.0.0"\n',
      'pack/main.lua': 'return select(2, pcall(aip.web.get, input)).content or "refused"\n',
      'own.lua': 'return aip.web.get(input).content\n',
    },
  })
  for (const args of [
    ['pack', 'pack', '-o', 'p.aipack'],
    ['install', 'p.aipack', '-y'],
  ])
    expectHeld(world, await world.run(args), [0])
  const url = `http://127.0.0.1:${port}/`
  const refused = await world.run(['other@p', '-i', url])
  expectHeld(world, refused, [0])
  expect(refused.stdout).toBe('refused\n')
  const own = await world.run(['own.lua', '-i', url])
  expectHeld(world, own, [0])
  expect(own.stdout).toBe('reached\n')
})

const secret = 'hunter2-secret'
const carriers: Readonly<Record<string, string>> = {
  authorization: `headers = { authorization = "${secret}" }`,
  cookie: `headers = { cookie = "a=${secret}" }`,
  'x-api-key': `headers = { ["X-Api-Key"] = "${secret}" }`,
  'any other header': `headers = { ["x-anything"] = { "a", "${secret}" } }`,
  'proxy-authorization': `headers = { ["Proxy-Authorization"] = "${secret}" }`,
  referer: `headers = { referer = "https://x/?${secret}" }`,
  'the content type': `headers = { ["content-type"] = "text/${secret}" }`,
}

attack('a redirect to another host takes no header along', { core: carriers }, async (options) => {
  const world = createWorld({ work: agent(`aip.web.post(input, "x", { ${options} })`) })
  const last = await redirect(world, 302)
  expect(JSON.stringify([last?.request.rawHeaders, last?.request.url])).not.toContain(secret)
  expect(last?.port).toBe(ports[1])
})

attack('a redirect to another host takes no body along', { core: { '307': 307, '308': 308 } }, async (status) => {
  const world = createWorld({ work: agent(`aip.web.post(input, "${secret}")`) })
  const last = await redirect(world, status)
  expect(last?.port).toBe(ports[0])
})

attack(
  'an address with a password keeps it from another host',
  { core: { '301': 301, '308': 308 } },
  async (status) => {
    const world = createWorld({ work: agent('aip.web.get(input)') })
    const last = await redirect(world, status, `user:${secret}@`)
    expect(JSON.stringify(last?.request.headers)).not.toMatch(/basic/i)
    expect(last?.port).toBe(ports[1])
  },
)

attack(
  'an answer that never ends does',
  { core: { 'redirects without end': loop(), 'a body that drips': '/drip' } },
  async (path) => {
    const world = createWorld({ work: agent('aip.web.get(input, { timeout_ms = 500 })') })
    const [port = 0] = ports
    const end = await world.run(['a.lua', '-i', `http://127.0.0.1:${port}${path}`])
    expectHeld(world, end, [0])
    expect(end.stdout).toMatch(/it redirects more than 5 times|it took longer than 0\.5 s/)
  },
)

/** Redirects to itself more often than redirects are followed. */
function loop(): string {
  let url = '/'
  for (let steps = 0; steps < 8; steps += 1) url = `/?to=${encodeURIComponent(url)}`
  return url
}

function agent(call: string): Files {
  return {
    'a.lua': `local ok, said = pcall(function() return ${call} end)\nreturn ok and said.content or tostring(said)\n`,
  }
}

/** The last request after the first server has redirected to the second. */
async function redirect(world: World, status: number, user = '') {
  const [first = 0, second = 0] = ports
  const to = encodeURIComponent(`http://127.0.0.1:${second}/there`)
  const end = await world.run(['a.lua', '-i', `http://${user}127.0.0.1:${first}/?status=${status}&to=${to}`])
  expectHeld(world, end, [0])
  return seen.at(-1)
}
