import { describe, expect, it } from 'vitest'
import { aimockHosts, aimockProvider, useAimock } from '../helpers/aimock.ts'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const mock = useAimock()

const plan = JSON.stringify({ todos: [{ content: 'Look', status: 'in_progress' }] })

describe.each(aimockHosts)('tools over $format', (host) => {
  it('are offered, called and answered, and text between the calls is streamed', async () => {
    const toolCalls = [
      { id: 'call_a', name: 'todo', arguments: plan },
      { id: 'call_b', name: 'todo', arguments: '{"todos": "none"}' },
    ]
    mock.on({ userMessage: 'Plan', hasToolResult: false }, { content: 'I plan first.', toolCalls }, { chunkSize: 4 })
    mock.on({ userMessage: 'Plan', hasToolResult: true }, { content: 'It is planned.' })
    const { config, env: key } = aimockProvider(mock, host)
    const env = { BATON_HOME: tempTree({ 'config/config.toml': config }), ...key }
    const cwd = tempTree({ 'ask.md': `+++\nmodel = "mock::${host.model}"\ntools = ["todo"]\n+++\nPlan\n` })

    const { code, stdout, stderr } = await baton(['ask.md', '--json'], { cwd, env })

    expect(code, stderr).toBe(0)
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly [key: string]: unknown })
    const completed = events.filter(({ type }) => type === 'tool.completed')
    // results are reported in the order in which calls end
    expect(completed.toSorted((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1))).toMatchObject([
      { name: 'todo', output: '- [~] Look', is_error: false },
      { name: 'todo', output: expect.stringContaining('$.todos must be a list'), is_error: true },
    ])
    const said = events.flatMap(({ type, item }) =>
      type === 'item.completed' ? [(item as { readonly text: string }).text] : [],
    )
    expect(said).toEqual(['I plan first.', 'It is planned.'])
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', result: 'It is planned.', usage: { calls: 2 } })
    const { messages = [] } = (mock.getRequests()[1]?.body ?? {}) as { messages?: readonly { readonly role: string }[] }
    expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { content: expect.stringContaining('[~] Look') },
      { content: expect.stringContaining('must be a list') },
    ])
  })
})
