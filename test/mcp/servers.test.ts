import { describe, expect, it } from 'vitest'
import { stdioServer, testServers } from '../helpers/mcp-server.ts'

const signal = new AbortController().signal

describe('a server over stdio', () => {
  it('is started once for all callers, and lists, calls, reads and prompts', async () => {
    await using mcp = testServers([stdioServer()])
    expect(mcp.pids).toEqual([])
    const [tools, resources, prompts] = await Promise.all([
      mcp.tools('test', signal),
      mcp.resources('test', signal),
      mcp.prompts('test', signal),
    ])
    expect(mcp.pids).toHaveLength(1)
    expect(tools.find(({ name }) => name === 'add')).toEqual({
      name: 'add',
      description: 'Adds two numbers.',
      input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      readOnly: true,
      idempotent: true,
      openWorld: false,
    })
    expect(resources.map(({ uri, isTemplate }) => [uri, isTemplate])).toEqual([
      ['memo://one', undefined],
      ['memo://pixel', undefined],
      ['memo://{name}', true],
    ])
    expect(prompts.map(({ name }) => name)).toEqual(['greet'])
    expect(await mcp.call('test', 'add', { a: 2, b: 3 }, { signal })).toEqual({
      content: [{ type: 'text', text: '5' }],
      structured: { sum: 5 },
    })
    expect(await mcp.read('test', 'memo://one', { signal })).toEqual([
      { uri: 'memo://one', mimeType: 'text/plain', text: 'the first memo' },
    ])
    expect(await mcp.prompt('test', 'greet', { who: 'Ada' }, { signal })).toEqual([
      { role: 'user', content: { type: 'text', text: 'Greet Ada.' } },
      { role: 'assistant', content: { type: 'text', text: 'With pleasure.' } },
    ])
    expect(mcp.about('test')).toMatchObject({
      name: 'scripted',
      version: '1.2.3',
      instructions: 'Use echo for texts.',
      protocol: '2025-11-25',
    })
    expect(mcp.notices).toEqual([])
  })
})
