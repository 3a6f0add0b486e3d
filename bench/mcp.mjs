import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { figure, interleave, quotients } from './rounds.mjs'

const server = join(dirname(import.meta.dirname), 'test/fixtures/mcp/stdio.mjs')
const input = { text: 'one' }
/** As long as the record that is written before a call. */
const line = Buffer.alloc(500, 'x')

/**
 * Calls of a tool of a stdio MCP server, one after another and all at the same time, against the bare protocol package.
 */
export async function mcp({ library, folder, small }) {
  const calls = small ? 20 : 100
  const stop = new AbortController()
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [server] }))
  const { servers, recorded } = await openServers(library, folder, stop.signal)
  const bare = () => client.callTool({ name: 'echo', arguments: input })
  const service = () => servers.call('bench', 'echo', input, { signal: stop.signal })
  const reads = () => recorded({ readOnly: true })
  const acts = () => recorded({ readOnly: false })
  const file = openSync(join(folder, 'synced'), 'a')
  const synced = () => {
    writeSync(file, line)
    fdatasyncSync(file)
    return bare()
  }
  try {
    const results = await interleave(
      {
        bare: inTurn(bare, calls),
        service: inTurn(service, calls),
        reads: inTurn(reads, calls),
        acts: inTurn(acts, calls),
        synced: inTurn(synced, calls),
        bareAtOnce: atOnce(bare, calls),
        serviceAtOnce: atOnce(service, calls),
        readsAtOnce: atOnce(reads, calls),
        actsAtOnce: atOnce(acts, calls),
      },
      small ? 3 : 11,
    )
    const against = (name, reference) => ({ ratios: quotients(results[name], results[reference]) })
    const of = 'the bare package'
    const aim = { atMost: 1.2 }
    const ofSynced = 'the bare package, a line written and synced before each call'
    return [
      figure('one call', { of, aim, ...against('service', 'bare') }),
      figure('one read-only call, recorded', { of, aim, ...against('reads', 'bare') }),
      figure('one call that acts, on disk before it is made', { of, ...against('acts', 'bare') }),
      figure('the same', { of: ofSynced, aim, ...against('acts', 'synced') }),
      figure(`${calls} concurrent calls`, { of, aim, ...against('serviceAtOnce', 'bareAtOnce') }),
      figure(`${calls} concurrent read-only calls, recorded`, { of, aim, ...against('readsAtOnce', 'bareAtOnce') }),
      figure(`${calls} concurrent calls that act, on disk before`, { of, ...against('actsAtOnce', 'bareAtOnce') }),
    ]
  } finally {
    closeSync(file)
    await servers.close()
    await client.close()
  }
}

/** The MCP service of a run, and a call through the effects gate: permitted, and on disk before it is made. */
async function openServers(library, folder, signal) {
  const { createMcpServers } = await import(`${library}/mcp/servers.js`)
  const { callTool } = await import(`${library}/mcp/recorded-calls.js`)
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
    isTrusted: true,
    sampling: false,
    origin: 'bench',
  }
  const servers = createMcpServers({ servers: [named], version: '1', env: process.env, roots: [], signal })
  const permission = createPermission(allRights, { workspace: folder, cwd: folder, packRoots: [] })
  const journal = await openRun({ folder: join(folder, 'run'), now: () => new Date() })
  const effects = createEffects({ journal, permission, signal, onSpent: () => undefined })
  const context = { services: { effects, permission, signal, mcp: servers, events: () => undefined }, scope: {} }
  let count = 0
  const recorded = ({ readOnly }) =>
    callTool(
      { server: named, tool: 'echo', input, readOnly },
      { at: [{ kind: 'tool', index: count++, name: 'echo' }], caller: 'bench', context },
    )
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
