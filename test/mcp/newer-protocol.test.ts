import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { McpAnswer } from '../../src/event/mcp.ts'
import { serveModern } from '../fixtures/mcp/modern.mjs'
import { httpServer, stdioServer, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal
const patient = { timeout: 20_000 }
const onQuestion = async (): Promise<McpAnswer> => ({ action: 'accept', content: { name: 'Ada' } })

describe('a server of the newer protocol', () => {
  it.each([
    ['also knows the older one, which everybody does over stdio', 'serve', '2025-11-25'],
    ['knows no other', 'reject', '2026-07-28'],
  ])('over stdio %s', async (_, legacy, protocol) => {
    const args = [join(import.meta.dirname, '../fixtures/mcp/modern.mjs'), legacy]
    const transport = { kind: 'stdio', command: process.execPath, args, env: {}, cwd: import.meta.dirname } as const
    await using mcp = testServers([{ ...stdioServer(), transport: () => transport }])
    expect((await mcp.tools('test', signal)).map(({ name }) => name)).toContain('echo')
    expect(mcp.about('test')).toMatchObject({ name: 'modern', protocol })
    expect(await mcp.call('test', 'echo', { text: 'hi' }, { signal })).toEqual(said('hi'))
    expect(mcp.pids).toHaveLength(1)
    expect(mcp.notices).toEqual([])
  })

  it('over HTTP needs no session, asks within a call, and reports a changed list', async () => {
    await using served = await serveModern()
    await using mcp = testServers([httpServer(served.url)])
    const names = async (): Promise<readonly string[]> => (await mcp.tools('test', signal)).map(({ name }) => name)
    expect(await names()).toEqual(['echo', 'ask', 'progress', 'regional', 'slow'])
    expect(mcp.about('test')).toMatchObject({ protocol: '2026-07-28' })
    expect(served.requests.some(({ message }) => message?.method === 'initialize')).toBe(false)
    const { content } = await mcp.call('test', 'ask', {}, { signal, onQuestion })
    expect(content).toMatchObject([{ text: expect.stringContaining('"name":"Ada"') }])
    const seen: number[] = []
    await mcp.call('test', 'progress', {}, { signal, onProgress: ({ done }) => void seen.push(done) })
    expect(seen).toEqual([1, 2])
    expect(await mcp.call('test', 'regional', { region: 'eu' }, { signal })).toEqual(said('in eu'))
    expect(served.requests.at(-1)?.headers['mcp-param-region']).toBe('eu')
    const before = served.requests.length
    await names()
    expect(served.requests).toHaveLength(before)
    served.change()
    await vi.waitFor(async () => expect(await names()).toContain('more'), patient)
  })

  it('over HTTP is notified of a cancelled call', async () => {
    await using served = await serveModern()
    await using mcp = testServers([httpServer(served.url)])
    await mcp.tools('test', signal)
    const stop = new AbortController()
    const call = mcp.call('test', 'slow', {}, { signal: stop.signal })
    const isAsked = (): boolean => served.requests.some(({ message }) => message?.method === 'tools/call')
    await vi.waitFor(() => expect(isAsked()).toBe(true), patient)
    stop.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await vi.waitFor(() => expect(served.state.cancelled).toBe(true), patient)
  })
})

function said(text: string): object {
  return { content: [{ type: 'text', text }] }
}
