import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { ConnectionFailure, type ServerEnd } from '../../src/mcp/connection.ts'
import { startStdio } from '../../src/mcp/stdio.ts'

interface Heard {
  readonly messages: JsonObject[]
  readonly junk: string[]
  readonly ends: ServerEnd[]
}

async function start(script: string, maxBytes = 10_000) {
  const heard: Heard = { messages: [], junk: [], ends: [] }
  const server = await startStdio({
    command: process.execPath,
    args: ['-e', script],
    cwd: import.meta.dirname,
    environment: { PATH: process.env['PATH'] ?? '' },
    maxBytes,
    onStart: () => {},
    onMessage: (message) => void heard.messages.push(message),
    onJunk: (line) => void heard.junk.push(line),
    onEnd: (end) => void heard.ends.push(end),
  })
  return { server, heard }
}

describe('a server over stdio', () => {
  it('answers line by line, and other lines are reported once', async () => {
    const script = `console.log('hello'); console.log('again'); console.error('on stderr')
    process.stdin.on('data', (line) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: 1, result: JSON.parse(line) }) + '\\n'))`
    const { server, heard } = await start(script)
    server.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
    await expect.poll(() => heard.messages).toMatchObject([{ id: 1, result: { method: 'ping' } }])
    expect(heard.junk).toEqual(['hello'])
    await expect.poll(() => server.words()).toBe('on stderr\n')
    await server.close()
    expect(heard.ends).toHaveLength(1)
  })

  it('is stopped when a line exceeds the limit', async () => {
    const { heard } = await start(`process.stdout.write('x'.repeat(50_000)); setInterval(() => {}, 1000)`, 10_000)
    await expect.poll(() => heard.ends).toHaveLength(1)
  })

  it('that does not exist is a connection failure', async () => {
    const options = { args: [], cwd: import.meta.dirname, environment: {}, maxBytes: 1000 }
    const silent = { onStart: () => {}, onMessage: () => {}, onJunk: () => {}, onEnd: () => {} }
    await expect(startStdio({ command: '/nonexistent/server', ...options, ...silent })).rejects.toBeInstanceOf(
      ConnectionFailure,
    )
  })
})
