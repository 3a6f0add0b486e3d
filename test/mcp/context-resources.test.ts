import { describe, expect, it } from 'vitest'
import type { RunContext } from '../../src/event/context.ts'
import { createResourceReader, splitResource } from '../../src/mcp/context-resources.ts'
import { testContext } from '../helpers/context.ts'
import { stdioServer, type TestServers, testServers } from '../helpers/mcp-server.ts'
import { tempTree } from '../helpers/temp.ts'

function contextWith(mcp: TestServers): RunContext {
  const process = testContext({ workspace: tempTree({}) })
  return { ...process, services: { ...process.services, mcp } }
}

describe('an entry of context_resources', () => {
  it.each([
    ['docs:file:///a.md', { server: 'docs', uri: 'file:///a.md' }],
    ['my-docs_2:memo://*', { server: 'my-docs_2', uri: 'memo://*' }],
    ['memo', undefined],
    ['a b:c', undefined],
    ['docs:', undefined],
  ])('%s is a server and a URI', (entry, split) => {
    expect(splitResource(entry)).toEqual(split)
  })
})

describe('resources for a prompt', () => {
  it('are texts and images, found by URI or by pattern among the listed ones, each once', async () => {
    await using mcp = testServers([stdioServer()])
    const read = createResourceReader(contextWith(mcp))
    const one = { path: 'test:memo://one', size: 14, content: 'the first memo' }
    const file = { type: 'file', name: 'pixel', mediaType: 'image/png', data: expect.any(String), isResource: true }
    expect(await read(['test:memo://*', 'test:memo://one'])).toEqual([
      one,
      { path: 'test:memo://pixel', size: 70, content: file },
    ])
    expect(await read(['test:memo://o*'])).toEqual([one])
  })

  it('are errors if a server does not have them, or does not exist', async () => {
    await using mcp = testServers([stdioServer()])
    const read = createResourceReader(contextWith(mcp))
    await expect(read(['test:memo://none'])).rejects.toMatchObject({
      code: 'MCP_FAILED',
      message: expect.stringMatching(/^context_resources: memo:\/\/none cannot be read: .*there is no memo:\/\/none/s),
      hint: 'baton mcp tools test shows what it offers.',
    })
    await expect(read(['test:memo://on.*'])).rejects.toMatchObject({
      message: 'the MCP server test lists no resource that matches "memo://on.*"',
      hint: expect.stringContaining('baton mcp tools test shows its resources.'),
    })
    await expect(read(['other:memo://one'])).rejects.toMatchObject({ message: 'there is no MCP server "other"' })
  })
})
