import { expect, it } from 'vitest'
import { inputOf } from '../../src/agent/tool-calls.ts'
import { parseSentJson } from '../../src/base/json.ts'
import { checkBySchema, compileSchema } from '../../src/base/json-schema.ts'
import { createHub } from '../../src/mcp/wire/open.ts'
import { parseJson } from '../../src/model/wire/reading.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

it('received JSON of any depth is an error, not a stack overflow', () => {
  expect(parseSentJson(nested(200))).toEqual(JSON.parse(nested(200)))
  for (const levels of [202, 8_000, 1_000_000])
    expect(() => parseSentJson(nested(levels))).toThrow('values nested deeper than 200 levels')
  expect(inputOf({ input: nested(8_000) })).toBe(nested(8_000))
})

it('a value that is too deep for a schema with patterns is a problem, not a failure of the thread', async () => {
  const result = await compileSchema({ properties: { a: { pattern: '(x+)+$' } } })
  if (result.kind === 'invalid') throw new Error(result.message)
  const value: unknown = JSON.parse(`{"b":${nested(100_000)}}`)
  expect(await checkBySchema(result.compiled, value, new AbortController().signal)).toEqual([
    { path: '$', message: 'is nested deeper than 200 levels' },
  ])
})

it('an event of a model whose arguments are too deep can be recorded, and its arguments stay too deep', () => {
  const read = parseJson(`{"functionCall":{"name":"a","args":{"b":${nested(100_000)}}}}`) as {
    readonly functionCall: { readonly name: string; readonly args: object }
  }
  expect(read.functionCall.name).toBe('a')
  const args = JSON.stringify(read.functionCall.args)
  expect(() => parseSentJson(args)).toThrow('values nested deeper than 200 levels')
})

it('an answer of an MCP server that is too deep is an error of its request, and a question has no contents', () => {
  const heard: unknown[] = []
  let tell: (message: never) => void = () => {}
  const hub = createHub({
    pid: 1,
    send: () => {},
    listen: ({ onMessage }) => void (tell = onMessage as typeof tell),
  } as Parameters<typeof createHub>[0])
  const transport = hub.transport()
  transport.onmessage = (message) => void heard.push(message)
  void transport.start()
  const deep: unknown = JSON.parse(nested(100_000))
  tell({ jsonrpc: '2.0', id: 1, result: { content: [], deep } } as never)
  tell({ jsonrpc: '2.0', id: 2, method: 'ping', params: { deep } } as never)
  tell({ jsonrpc: '2.0', method: 'note', params: { deep } } as never)
  const error = { code: -32_700, message: 'its answer is nested deeper than 200 levels' }
  expect(heard).toEqual([
    { jsonrpc: '2.0', id: 1, error },
    { jsonrpc: '2.0', id: 2, method: 'ping' },
    { jsonrpc: '2.0', method: 'note' },
  ])
})

it('a problem of a value truncates a long key', async () => {
  const result = await compileSchema({ additionalProperties: false })
  if (result.kind === 'invalid') throw new Error(result.message)
  const [problem] = result.compiled.validate({ ['x'.repeat(1_000_000)]: 1 })
  expect(problem?.message).toMatch(/^the key "x{200}… \(999800 more characters\)" is not allowed$/)
})
