import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { checkedInput } from '../../src/serve/mcp/protocol.ts'

const usual = '{"jsonrpc":"2.0","id":9,"method":"ping"}'
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** What is passed on of some lines, and what is answered. */
async function check(...lines: readonly string[]): Promise<{ passed: string; answered: readonly unknown[] }> {
  const output = new PassThrough()
  const checked = checkedInput({ mostBytes: 100_000, output })
  checked.end(lines.join('\n'))
  const passed = await text(checked)
  output.end()
  const answers = (await text(output)).split('\n').filter((line) => line !== '')
  return { passed, answered: answers.map((line) => JSON.parse(line) as unknown) }
}

describe('a line of a client of mcp serve', () => {
  it.each([
    ['nested too deeply', `{"jsonrpc":"2.0","id":2,"params":${nested(10_000)}}`, 2, -32_600, /nested deeper than 200/],
    ['a deep list', nested(40_000), null, -32_600, /nested deeper than 200/],
    ['not closed', '['.repeat(50_000), null, -32_700, /not JSON/],
    ['too long', `{"jsonrpc":"2.0","id":2,"a":"${'x'.repeat(200_000)}"}`, null, -32_600, /at most 100000 are read/],
    ['another kind of JSON', '[1]', null, -32_600, /not an object of JSON-RPC/],
  ])('that is %s is answered with an error, and the next one is read', async (_kind, line, id, code, message) => {
    const { passed, answered } = await check(line, usual, line)
    expect(passed).toBe(`${usual}\n`)
    const error = { code, message: expect.stringMatching(message) as string }
    expect(answered).toEqual([
      { jsonrpc: '2.0', id, error },
      { jsonrpc: '2.0', id, error },
    ])
  })

  it('is passed on in one piece, however it arrives', async () => {
    const checked = checkedInput({ mostBytes: 100, output: new PassThrough() })
    for (const byte of Buffer.from(`${usual}\r\n\n${usual}`)) checked.write(Buffer.from([byte]))
    checked.end()
    expect(await text(checked)).toBe(`${usual}\r\n${usual}\n`)
  })
})
