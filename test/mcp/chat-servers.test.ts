import { expect, it } from 'vitest'
import { createChatServers } from '../../src/mcp/chat-servers.ts'
import { stdioServer, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal

it('a server that was ended by name is listed as ended, and its next result says what was lost', async () => {
  const kept = createChatServers()
  try {
    await using mcp = testServers([stdioServer()], { kept })
    const call = () => mcp.call('test', 'state', {}, { signal })
    expect([await call(), await call()].map(({ isAfterLoss }) => isAfterLoss)).toEqual([undefined, undefined])
    expect([kept.end('test'), kept.end('nobody')]).toEqual([true, false])
    await expect.poll(() => kept.states()[0]?.state.kind, { timeout: 20_000 }).toBe('ended')
    await using next = testServers([stdioServer()], { kept })
    expect(await next.call('test', 'state', {}, { signal })).toMatchObject({ isAfterLoss: true })
    expect(await next.call('test', 'state', {}, { signal })).not.toHaveProperty('isAfterLoss')
  } finally {
    await kept.close()
  }
})
