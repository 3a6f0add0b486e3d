// A process that has MCP servers and prints their process ids; a test kills it.
import { stdioServer, testServers } from './mcp-server.ts'

const { signal } = new AbortController()
const mcp = testServers([stdioServer({}, { name: 'leaves' }), stdioServer({ stays: true }, { name: 'stays' })])

async function numbersOf(server: string): Promise<readonly number[]> {
  const [state, child] = [
    await mcp.call(server, 'state', {}, { signal }),
    await mcp.call(server, 'child', {}, { signal }),
  ].map(({ content: [first] }) => JSON.parse(first?.type === 'text' ? first.text : '') as unknown)
  return [(state as { readonly pid: number }).pid, child as number]
}

const numbers = { pid: process.pid, leaves: await numbersOf('leaves'), stays: await numbersOf('stays') }
process.stdout.write(`${JSON.stringify(numbers)}\n`)
