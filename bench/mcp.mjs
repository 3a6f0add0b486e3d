import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { figure, interleave, quotients } from './rounds.mjs'

const server = join(dirname(import.meta.dirname), 'test/fixtures/mcp/stdio.mjs')
const input = { text: 'one' }

/** A call of a tool of a server that is a process, one after the other and all at once, against the bare package of the protocol. */
export async function mcp({ library, folder, small }) {
  const calls = small ? 20 : 100
  const stop = new AbortController()
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server] }))
  const { servers, recorded } = await openServers(library, folder, stop.signal)
  const bare = () => client.callTool({ name: 'echo', arguments: input })
  const service = () => servers.call('bench', 'echo', input, { signal: stop.signal })
  try {
    const results = await interleave(
      {
        bare: inTurn(bare, calls),
        service: inTurn(service, calls),
        recorded: inTurn(recorded, calls),
        bareAtOnce: atOnce(bare, calls),
        serviceAtOnce: atOnce(service, calls),
        recordedAtOnce: atOnce(recorded, calls),
      },
      small ? 3 : 11,
    )
    const against = (name, reference) => ({ ratios: quotients(results[name], results[reference]) })
    return [
      figure('one call', { of: 'the bare package', aim: { atMost: 1.2 }, ...against('service', 'bare') }),
      figure('one call, recorded on the disk', { of: 'the bare package', ...against('recorded', 'bare') }),
      figure(`${calls} calls at once`, {
        of: 'the bare package',
        aim: { atMost: 1.2 },
        ...against('serviceAtOnce', 'bareAtOnce'),
      }),
      figure(`${calls} calls at once, recorded on the disk`, {
        of: 'the bare package',
        ...against('recordedAtOnce', 'bareAtOnce'),
      }),
    ]
  } finally {
    await servers.close()
    await client.close()
  }
}

/** The service of a run, and a call through the gate of effects, permitted and on the disk before it is made. */
async function openServers(library, folder, signal) {
  const { createMcpServers } = await import(`${library}/mcp/servers.js`)
  const { callTool } = await import(`${library}/mcp/recorded.js`)
  const { allRights } = await import(`${library}/event/permission.js`)
  const { createEffects } = await import(`${library}/journal/effects.js`)
  const { openRun } = await import(`${library}/journal/store.js`)
  const { createPermission } = await import(`${library}/tool/permission.js`)
  const transport = { kind: 'stdio', command: process.execPath, args: [server], env: {}, cwd: folder }
  const named = {
    name: 'bench',
    transport: () => transport,
    startMs: 30_000,
    toolMs: 60_000,
    isTrusted: false,
    sampling: false,
    origin: 'bench',
  }
  const servers = createMcpServers({ servers: [named], version: '1', env: process.env, roots: [], signal })
  const permission = createPermission(allRights, { workspace: folder, cwd: folder, packRoots: [] })
  const journal = await openRun({ folder: join(folder, 'run'), now: () => new Date() })
  const effects = createEffects({ journal, permission, signal, onSpent: () => undefined })
  const context = { services: { effects, permission, signal, mcp: servers, events: () => undefined }, scope: {} }
  const asked = { server: named, tool: 'echo', input }
  let count = 0
  const recorded = () =>
    callTool(asked, { at: [{ kind: 'tool', index: count++, name: 'echo' }], caller: 'bench', context })
  return { servers, recorded }
}

function inTurn(call, calls) {
  return async () => {
    const begun = performance.now()
    for (let index = 0; index < calls; index += 1) checked(await call())
    return performance.now() - begun
  }
}

function atOnce(call, calls) {
  return async () => {
    const begun = performance.now()
    const answers = await Promise.all(Array.from({ length: calls }, call))
    for (const answer of answers) checked(answer)
    return performance.now() - begun
  }
}

function checked({ content: [part] }) {
  if (part.text !== input.text) throw new Error(`it answered ${part.text}`)
}
