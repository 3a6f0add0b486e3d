import { describe, expect, it } from 'vitest'
import { type Chat, type ChatHost, forkChat, openChat, type Outgoing, reopenChat } from '../../src/chat/chat.ts'
import { claimMessage } from '../../src/chat/claim-message.ts'
import { type Approver, grantFor } from '../../src/event/permission.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { StopSignal } from '../../src/base/error.ts'
import type { RunReport } from '../../src/wiring/conduct.ts'
import type { ModelScript } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly host: ChatHost
  readonly model: ToolModel
  readonly chat: Chat
  /** Sends a message; `stopAt`: as with Ctrl-C, once there is such an event. */
  readonly say: (chat: Chat, message: string | Outgoing, stopAt?: (event: RunEvent) => boolean) => Promise<RunReport>
  /** What the model got in its nth request: role and text of each message except the system message. */
  readonly told: (request: number) => readonly string[]
}

async function world(
  replies: ModelScript,
  {
    files = {},
    overrides = [],
  }: { readonly files?: Record<string, string>; readonly overrides?: readonly string[] } = {},
): Promise<World> {
  const model = await startToolModel(replies)
  const home = tempTree()
  const cwd = tempTree({ 'baton.toml': 'model = "m"\n', ...files })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home, PATH: process.env['PATH'] }
  const host = { cwd, env, home, what: 'a test', keepsTaken: true }
  return {
    host,
    model,
    chat: openChat(host, {
      overrides: [
        'write_mode=true',
        'tools=["*"]',
        'sandbox.mode="danger-full-access"',
        'permission.bash="allow"',
        ...overrides,
      ],
    }),
    async say(chat, message, stopAt) {
      const stop = new AbortController()
      const given = typeof message === 'string' ? { text: message } : message
      return chat.send(given, { signal: stop.signal }, (event) => {
        if (stopAt?.(event) === true) stop.abort(new StopSignal('SIGINT', 130))
      })
    },
    told: (request) =>
      (model.requests.at(request)?.body?.messages ?? [])
        .filter(({ role }) => role !== 'system')
        .map(({ role, content }) => `${role}: ${content ?? ''}`),
  }
}

const hasText = (event: RunEvent): boolean => event.type === 'item.delta' && event.text.includes('two')

describe('a message that was stopped', () => {
  it('is part of the conversation with what had arrived, also for another process', async () => {
    const { chat, host, say, told } = await world([
      { text: 'one two', chunks: ['one ', 'two'], stallAfter: 2 },
      { text: 'Three.' },
      { text: 'Four.' },
    ])
    expect(await say(chat, 'Count', hasText)).toMatchObject({ stopReason: 'cancelled', exitCode: 130 })
    await say(chat, 'Go on')
    const said = ['user: Count', 'assistant: one two\n\n[The user stopped this answer here.]', 'user: Go on']
    expect(told(1)).toEqual(said)
    await chat.close()
    const again = await reopenChat(host, 'last')
    await say(again, 'More')
    expect(told(2)).toEqual([...said, 'assistant: Three.', 'user: More'])
  })

  it('is part of it with the calls of its rounds and the results that they had', async () => {
    const { chat, say, told } = await world(
      [
        callsTools(['read', { path: 'a.txt' }]),
        callsTools(['read', { path: 'b.txt' }], ['bash', { command: 'sleep 60' }]),
        { text: 'Good.' },
      ],
      { files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } },
    )
    const read = new Set<string>()
    await say(chat, 'Look', (event) => {
      if (event.type === 'tool.completed' && event.name === 'read') read.add(event.id)
      return read.size === 2
    })
    await say(chat, 'Well?')
    expect(told(2)).toEqual([
      'user: Look',
      'assistant: ',
      'tool: 1\ta',
      'assistant: ',
      'tool: 1\tb',
      'tool: Error: interrupted',
      'assistant: [The user stopped this answer here.]',
      'user: Well?',
    ])
  })

  it('has a place in it also if nothing had arrived, and if it failed', async () => {
    let stop = (): void => {}
    const replies = [
      { text: 'late', stallAfter: 0 },
      { status: 400, body: { error: { message: 'no' } } },
      { text: 'Here.' },
    ]
    const { chat, say, told } = await world((_, index) => {
      stop()
      return replies[index] ?? {}
    })
    const asked = new AbortController()
    stop = () => asked.abort(new StopSignal('SIGINT', 130))
    await chat.send({ text: 'First' }, { signal: asked.signal }, () => {})
    await say(chat, 'Second')
    await say(chat, 'Third')
    expect(told(2)).toEqual([
      'user: First',
      'assistant: [The user stopped this answer here.]',
      'user: Second',
      'assistant: [This answer failed here, before it was finished.]',
      'user: Third',
    ])
  })
})

describe('a message that is resumed after the chat went on', () => {
  const half = { text: 'one two', chunks: ['one ', 'two'], stallAfter: 2 }

  it('is answered at its place, and the messages after it go on as they began', async () => {
    const { chat, say, told } = await world([half, half, { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
    const first = await say(chat, 'First', hasText)
    const second = await say(chat, 'Second', hasText)
    expect(await chat.resume(first.runId, {}, () => undefined)).toMatchObject({ exitCode: 0 })
    expect(await chat.resume(second.runId, {}, () => undefined)).toMatchObject({ exitCode: 0 })
    // it was asked before the first one had its whole answer
    expect(told(3)).toEqual(told(1))
    await say(chat, 'Third')
    const said = ['user: First', 'assistant: One.', 'user: Second', 'assistant: Two.', 'user: Third']
    expect(told(4)).toEqual(said)
  })

  it('is resumed from outside only while no process has the chat', async () => {
    const { chat, host, say } = await world([half])
    const { folder = '' } = await say(chat, 'First', hasText)
    await expect(claimMessage(folder, host.cwd)).rejects.toThrow(/^chat \S+ is open in process \d+ \(a test in /)
    await chat.close()
    const { release } = await claimMessage(folder, host.cwd)
    await expect(reopenChat(host, 'last')).rejects.toThrow(/is open in process \d+ \(baton resume in /)
    release()
    await (await reopenChat(host, 'last')).close()
  })
})

describe('what was allowed for a chat', () => {
  it('holds after a summary and in a copy, and not if the chat went back to before the question', async () => {
    const todo = [callsTools(['todo', { todos: [] }]), { text: 'Done.' }]
    const { chat, host } = await world([{ text: 'Zero.' }, ...todo, { text: 'In short.' }, ...todo, ...todo, ...todo], {
      overrides: ['permission.todo="ask"'],
    })
    let asked = 0
    const approver: Approver = async (action) => {
      asked += 1
      return action.kind === 'tool' ? { always: grantFor(action) } : 'allow'
    }
    const quiet = (): void => undefined
    await chat.send({ text: 'Zero' }, { approver }, quiet)
    const [zero] = await chat.messages()
    await chat.send({ text: 'One' }, { approver }, quiet)
    expect(asked).toBe(1)
    await chat.compact({ approver }, quiet)
    await chat.send({ text: 'Two' }, { approver }, quiet)
    await chat.close()
    const copy = await forkChat(host, 'last')
    await copy.send({ text: 'Three' }, { approver }, quiet)
    expect(asked).toBe(1)
    await copy.rewind(zero?.run)
    await copy.send({ text: 'Four' }, { approver }, quiet)
    expect(asked).toBe(2)
    await copy.close()
  })
})

describe('in code mode', () => {
  it('a limit of rounds leaves no empty message, which some hosts refuse', async () => {
    const program = { text: '```js\nconsole.log(1)\n```' }
    const overrides = ['mode="code"', 'max_rounds=1']
    const { chat, say, told } = await world([program, { text: 'Bye.' }], { overrides })
    await say(chat, 'Go')
    await say(chat, 'And?')
    expect(told(1)).toEqual([
      'user: Go',
      expect.stringContaining('console.log(1)'),
      expect.stringContaining('user: Logs:'),
      'assistant: [This answer failed here, before it was finished.]',
      'user: And?',
    ])
  })

  it('the next message knows what programs printed and returned (R180, R182, R192)', async () => {
    const { chat, host, say, told } = await world(
      [
        { text: 'log("seen", 41); 41 + 1' },
        { text: 'output("It is 42."); log("bye"); done(); 7' },
        { text: 'output("Yes."); done()' },
        { text: 'output("Really."); done()' },
      ],
      { overrides: ['mode="code"'] },
    )
    await say(chat, 'Sum')
    const known = [
      'user: Sum',
      'assistant: log("seen", 41); 41 + 1',
      'user: Logs:\nseen 41\n\nExecution result: 42',
      'assistant: output("It is 42."); log("bye"); done(); 7',
      'user: Logs:\nbye\n\nExecution result: 7',
      'assistant: It is 42.',
    ]
    await say(chat, 'Sure?')
    expect(told(2)).toEqual([...known, 'user: Sure?'])
    await chat.close()
    await say(await reopenChat(host, 'last'), 'Really?')
    expect(told(3).slice(0, 7)).toEqual([...known, 'user: Sure?'])
    expect(told(3).slice(8)).toEqual(['user: Execution result: null', 'assistant: Yes.', 'user: Really?'])
  })
})
