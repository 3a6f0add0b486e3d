import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import type { RunServices } from '../../src/event/context.ts'
import type { McpServer } from '../../src/event/mcp.ts'
import { placeText } from '../../src/event/place.ts'
import { callTool } from '../../src/mcp/recorded-calls.ts'
import { testContext } from '../helpers/context.ts'
import { placeAt } from '../helpers/effects.ts'
import { stdioServer, testServers } from '../helpers/mcp-server.ts'

/** Calls tools of a real server, with an approver that answers its questions. */
function world(services: Partial<RunServices>, given: Partial<McpServer> = {}) {
  const server = stdioServer({}, given)
  const mcp = testServers([server])
  const context = testContext({ services: { mcp, ...services } })
  return {
    mcp,
    context,
    warnings: () => context.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : [])),
    call: async (tool: string, input: JsonObject = {}, at = 'main'): Promise<string> => {
      const asked = { server, tool, input }
      const { content } = await callTool(asked, { at: placeAt(at), caller: 'test', context })
      return content.map((piece) => (piece.type === 'text' ? piece.text : '')).join('')
    },
  }
}

describe('questions of a server to a person', () => {
  it('are answered during its call, and only the server gets the values', async () => {
    const asked: unknown[] = []
    const { mcp, call, context } = world({
      async askPerson({ server, question, at }) {
        asked.push({ server, question, at: placeText(at) })
        return { action: 'accept', content: { name: 'Ada Lovelace' } }
      },
    })
    await using _ = mcp
    expect(await call('ask')).toBe('{"action":"accept","content":{"name":"Ada Lovelace"}}')
    expect(asked).toEqual([
      { server: 'test', at: 'main', question: { kind: 'form', message: 'Who are you?', schema: expect.anything() } },
    ])
    // the result contains it only because the server returned it
    const others = context.records.filter(({ k }) => k !== 'ended')
    expect(JSON.stringify([context.sent, others])).not.toContain('Lovelace')
  })

  it('are declined at once if nobody can be asked, which the run reports once', async () => {
    for (const services of [{}, { askPerson: async () => undefined }]) {
      const { mcp, call, warnings } = world(services)
      await using _ = mcp
      expect(await call('ask')).toBe('{"action":"decline"}')
      expect(await call('ask', { url: 'https://example.com' }, 'again')).toBe('{"action":"decline"}')
      expect(warnings()).toEqual([expect.stringContaining('test asked the user a question, and nobody could be asked')])
    }
  })

  it.each(['file:///etc/passwd', 'javascript:alert(1)', 'http://login.example/', 'http://127.0.0.1.evil.example/'])(
    'never direct anybody to %s: they are declined, which the run reports',
    async (url) => {
      const { mcp, call, warnings } = world({ askPerson: async () => ({ action: 'accept' }) })
      await using _ = mcp
      expect(await call('ask', { url })).toBe('{"action":"decline"}')
      expect(warnings()).toEqual([
        `the MCP server test asked the user to open an address that is not https: ${url}: it was declined`,
      ])
    },
  )

  it('are withdrawn when the server has ended', async () => {
    let withdrawn: AbortSignal | undefined
    const { mcp, call } = world({
      askPerson: async (_, signal) => {
        withdrawn = signal
        void call('crash', {}, 'other').catch(() => {})
        return new Promise(() => {})
      },
    })
    await using _ = mcp
    await expect(call('ask')).rejects.toMatchObject({ code: 'MCP_FAILED' })
    expect(withdrawn?.aborted).toBe(true)
  })
})

describe('questions of a server to a model', () => {
  it('are asked at places below the call', async () => {
    const places: string[] = []
    const { mcp, call } = world(
      {
        async sample(params, { scope }) {
          places.push(placeText(scope.at))
          expect(params).toMatchObject({ maxTokens: 100 })
          return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Well.' } }
        },
      },
      { sampling: true },
    )
    await using _ = mcp
    expect(JSON.parse(await call('sample'))).toMatchObject({ role: 'assistant', content: { text: 'Well.' } })
    expect(places).toEqual(['main/sampling/0'])
  })

  it('that cannot be asked are an error for the server, and the run reports the reason', async () => {
    const sample = async (): Promise<never> => {
      throw new Error('the budget is used up')
    }
    const { mcp, call, warnings } = world({ sample }, { sampling: true })
    await using _ = mcp
    expect(await call('sample')).toContain('the budget is used up')
    expect(warnings()).toEqual(['the MCP server test got no answer from a model: the budget is used up'])
  })

  it('are not announced unless the settings let the server ask', async () => {
    for (const sampling of [true, false]) {
      const { mcp, call } = world({}, { sampling })
      await using _ = mcp
      const { capabilities } = JSON.parse(await call('state')) as { readonly capabilities: JsonObject }
      expect(Object.hasOwn(capabilities, 'sampling')).toBe(sampling)
    }
  })
})
