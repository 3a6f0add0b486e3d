// A process that has MCP servers, and says which processes they are; it is killed by a test.
import { leaderOf } from '../../src/base/process-group.ts'
import { stdioServer, testServers } from './mcp-server.ts'

const { signal } = new AbortController()
const leaders: unknown[] = []
const mcp = testServers([stdioServer({}, { name: 'leaves' }), stdioServer({ stays: true }, { name: 'stays' })], {
  noteProcess: (pid) => void leaders.push(leaderOf(pid)),
})

async function numbersOf(server: string): Promise<readonly number[]> {
  const [state, child] = [
    await mcp.call(server, 'state', {}, { signal }),
    await mcp.call(server, 'child', {}, { signal }),
  ].map(({ content: [first] }) => JSON.parse(first?.type === 'text' ? first.text : '') as unknown)
  return [(state as { readonly pid: number }).pid, child as number]
}

process.stdout.write(
  `${JSON.stringify({ leaders, leaves: await numbersOf('leaves'), stays: await numbersOf('stays') })}\n`,
)
