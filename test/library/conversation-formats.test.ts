import { describe, expect, it, onTestFinished } from 'vitest'
import { type ConversationEvent, createConversations } from '../../src/index.ts'
import { aimockHosts, aimockProvider, useAimock } from '../helpers/aimock.ts'
import { tempTree } from '../helpers/temp.ts'

const mock = useAimock()
const steps = JSON.stringify({ todos: [{ content: 'Look', status: 'in_progress' }] })

describe.each(aimockHosts)('a conversation over $format', (host) => {
  it('asks before it calls a tool, continues when the call is allowed, and remembers it in the next prompt', async () => {
    const toolCalls = [{ id: 'call_a', name: 'todo', arguments: steps }]
    mock.on({ userMessage: 'Plan', hasToolResult: false }, { content: 'I plan first.', toolCalls }, { chunkSize: 4 })
    mock.on({ userMessage: 'Plan', hasToolResult: true }, { content: 'It is planned.' })
    mock.on({ userMessage: 'Really' }, { content: 'Yes.' })
    const { config, env } = aimockProvider(mock, host)
    const home = tempTree({ 'config/config.toml': `${config}\n[permission]\ntodo = "ask"\n` })
    const manager = createConversations({ cwd: tempTree({}), env: { ...env, BATON_HOME: home }, home })
    onTestFinished(() => manager.close())
    const instructions = '+++\ntools = ["todo"]\n+++\nBe brief.'
    const conversation = manager.open({ model: `mock::${host.model}`, instructions })
    conversation.submit({ type: 'prompt', text: 'Plan' })
    conversation.submit({ type: 'prompt', text: 'Really' })
    const seen: ConversationEvent[] = []
    for await (const event of conversation.events) {
      seen.push(event)
      if (event.type === 'approval.requested') conversation.submit({ type: 'approve', id: event.id })
      const isLast = seen.filter(({ type }) => type === 'prompt.completed').length === 2
      if (event.type === 'prompt.completed' && isLast) conversation.submit({ type: 'shutdown' })
    }
    expect(await conversation.ended).toMatchObject({ exitCode: 0 })
    const said = seen.flatMap((event) => (event.type === 'item.completed' ? [event.item.text] : []))
    expect(said).toEqual(['I plan first.', 'It is planned.', 'Yes.'])
    expect(seen.filter(({ type }) => type === 'tool.completed')).toMatchObject([{ name: 'todo', is_error: false }])
    const { messages = [] } = (mock.getRequests().at(-1)?.body ?? {}) as {
      messages?: readonly { readonly role: string; readonly content: unknown }[]
    }
    // some formats represent the text and the call of an answer as two messages
    const roles = messages.map(({ role }) => role).filter((role, index, all) => role !== all[index - 1])
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
    expect(messages.find(({ role }) => role === 'tool')?.content).toContain('[~] Look')
  })
})
