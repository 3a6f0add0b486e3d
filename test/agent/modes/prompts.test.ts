import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { createModeRegistry, modeNamed, refuseOptions } from '../../../src/agent/modes/registry.ts'
import type { ExecutionMode, ModeLoop, PromptExecutor } from '../../../src/agent/modes/mode.ts'
import { noPlugins } from '../../../src/agent/plugins/plugin.ts'
import { createTimeline } from '../../../src/agent/modes/timeline.ts'
import type { AgentSession, ModelResult } from '../../../src/event/agent.ts'
import { withServices } from '../../../src/event/context.ts'
import type { RunEvent } from '../../../src/event/event.ts'
import type { PromptChoice, PromptState } from '../../../src/event/prompt.ts'
import { noUsage, textMessage } from '../../../src/event/message.ts'
import { readPrompt } from '../../../src/agent/modes/stored-prompt.ts'
import { createFakeProvider } from '../../helpers/fake-model.ts'
import { sessionWorld } from '../../helpers/session-world.ts'

interface World {
  readonly session: AgentSession
  readonly ask: (choice?: PromptChoice) => Promise<ModelResult>
  /** What was published about the prompts. */
  readonly sent: () => readonly RunEvent[]
}

/** A conversation with a model that says hello, with modes of plug-ins. */
async function world(...modes: readonly ExecutionMode[]): Promise<World> {
  const provider = createFakeProvider([{ text: ['Hello.'] }])
  const { context, sent } = await sessionWorld({ provider, plugins: async () => ({ ...noPlugins, modes }) })
  const agent = { kind: 'llm', name: 'helper', settings: { model: 'small' }, userId: 'ada' } as const
  const session = await context.services.agents.open(agent, context)
  return {
    session,
    ask: async (choice) => session.answer(await session.send([textMessage('user', 'Hi.')], choice)),
    sent: () => sent.filter(({ type }) => type.startsWith('prompt.')),
  }
}

function mode(id: string, loop: ModeLoop, name = id): ExecutionMode {
  return { id, name, createExecutor: ({ services }) => services.executor(loop) }
}

const says =
  (text: string): ModeLoop =>
  async ({ timeline }) => {
    timeline.addText(text)
    return 'done'
  }

describe('the registry', () => {
  it('returns modes by id and lists them in order; the same id replaces (R156, R157, R158, R159)', () => {
    const modes = createModeRegistry([
      mode('x', says('1'), 'first'),
      mode('y', says('2')),
      mode('x', says('3'), 'second'),
    ])
    expect(modes.list().map(({ id, name }) => [id, name])).toEqual([
      ['classic', 'Classic (text + tools)'],
      ['code', 'Code (JavaScript sandbox)'],
      ['x', 'second'],
      ['y', 'y'],
    ])
    expect([modes.get('x')?.name, modes.get('z')]).toEqual(['second', undefined])
  })

  it('always has classic (R166)', () => {
    expect(createModeRegistry().get('classic')?.name).toBe('Classic (text + tools)')
  })
})

describe('a prompt', () => {
  it('is executed in its mode, or in classic mode by default (R151, R162, TV24)', async () => {
    const { session, ask, sent } = await world(mode('m', says('Bonjour.')))
    expect((await ask()).text).toBe('Hello.')
    expect((await ask({ mode: 'm' })).text).toBe('Bonjour.')
    expect(session.prompts().map(({ output }) => output)).toMatchObject([
      [{ type: 'text', text: 'Hello.' }],
      [{ type: 'text', text: 'Bonjour.' }],
    ])
    expect(sent().filter(({ type }) => type === 'prompt.created')).toMatchObject([
      { type: 'prompt.created', prompt_id: 'task/0/ask/prompt', user_id: 'ada', mode: 'classic' },
      { type: 'prompt.created', prompt_id: 'task/0/ask/prompt-2', user_id: 'ada', mode: 'm' },
    ])
  })

  it('with an unknown mode is refused, and nothing is published (R163, R201, TV24)', async () => {
    const { session, ask, sent } = await world(mode('steps', says('')))
    await expect(ask({ mode: 'nope' })).rejects.toThrow('Unknown execution mode: "nope"')
    expect(() => modeNamed('clasic', createModeRegistry())).toThrow(
      expect.objectContaining({ hint: 'Did you mean "classic"?' }),
    )
    expect([sent(), session.prompts()]).toEqual([[], []])
  })

  it('of a mode that is built in names its options for a wrong one, that of a plug-in its documentation', async () => {
    const keys = 'The keys of [code]: timeout, memory_mb, eval_type, stream, auto_approve.'
    const wrong = { memory: 64 }
    await expect(refuseOptions('code', wrong, createModeRegistry())).rejects.toThrow(
      expect.objectContaining({ hint: keys }),
    )
    await expect(refuseOptions('code', { memory_mb: 1 }, createModeRegistry())).rejects.toThrow(
      expect.objectContaining({ hint: keys }),
    )
    const none = { type: 'object', additionalProperties: false }
    const own = { ...mode('code', says('')), options: none }
    await expect(refuseOptions('code', wrong, createModeRegistry([own]))).rejects.toThrow(
      expect.objectContaining({ hint: 'See the documentation of the plug-in that defines the mode.' }),
    )
  })

  it('is active until it has ended, and then completed with its usage (R164, R179)', async () => {
    const told: string[] = []
    const decided = async (id: string): Promise<void> => void told.push(id)
    let executor: PromptExecutor | undefined
    const own: ExecutionMode = {
      ...mode('m', says('')),
      createExecutor({ services }) {
        executor = services.executor(async () => {
          opened.session.approve('during')
          return 'done'
        })
        return Object.defineProperties(executor, { approve: { value: decided } })
      },
    }
    const opened = await world(own)
    const { session, ask, sent } = opened
    await ask({ mode: 'm' })
    session.approve('after')
    const id = 'task/0/ask/prompt'
    expect(executor).toMatchObject({ id, userId: 'ada', state: 'completed', usage: noUsage })
    expect(told).toEqual(['during'])
    expect(session.prompts()).toEqual([
      {
        id,
        userId: 'ada',
        mode: 'm',
        model: 'normal',
        visible: true,
        state: 'completed',
        input: 'Hi.',
        output: [],
        usage: noUsage,
      },
    ])
    expect(sent().at(-1)).toMatchObject({ type: 'prompt.completed', prompt_id: id, usage: noUsage })
  })

  it.each(['classic', 'm'])('passes decisions about its calls on to them (R153): in the mode %s', async (id) => {
    const decided: unknown[] = []
    const provider = createFakeProvider([{ text: [], toolCalls: ['look'], finish: 'tool_calls' }, { text: ['Yes.'] }])
    const twice = mode('m', async (work) => {
      await work.runTools((await work.ask()).calls)
      return 'done'
    })
    const { context } = await sessionWorld({ provider, plugins: async () => ({ ...noPlugins, modes: [twice] }) })
    const questions = { answer: (_: unknown, decision: unknown) => void decided.push(decision) }
    const look = {
      name: 'look',
      description: 'Looks.',
      parameters: {},
      async run() {
        session.approve('task/0/ask/message/0')
        session.reject('task/0/ask/message/0', 'not there')
        session.reject('task/0/ask/message/0')
        session.approve('another')
        return { text: 'seen' }
      },
    }
    const agent = { kind: 'llm', name: 'helper', settings: { model: 'small' }, tools: [look], mode: id } as const
    const at = withServices(context, { questions: questions as never })
    const session: AgentSession = await at.services.agents.open(agent, at)
    await session.answer(await session.send([textMessage('user', 'Hi.')]))
    expect(decided).toEqual(['allow', { remark: 'not there' }, 'deny'])
  })

  it.each([
    ['failed', new BatonError('MODEL_FAILED', 'the server is away'), ['prompt.created', 'prompt.error']],
    ['waiting_for_approval', new BatonError('SUSPENDED', 'later'), ['prompt.created']],
  ] as [PromptState, BatonError, string[]][])(
    'that ends as %s has this state, and is no longer active (R205)',
    async (state, error, types) => {
      const { session, ask, sent } = await world(mode('m', () => Promise.reject(error)))
      await expect(ask({ mode: 'm' })).rejects.toBe(error)
      expect([session.prompts().at(-1)?.state, sent().map(({ type }) => type)]).toEqual([state, types])
      const { code, message } = error
      const told = sent().filter(({ type }) => type === 'prompt.error')
      expect(told).toMatchObject(
        types.includes('prompt.error')
          ? [{ type: 'prompt.error', prompt_id: 'task/0/ask/prompt', state, error: { code, message } }]
          : [],
      )
    },
  )

  it('that is interrupted is cancelled, after its error', async () => {
    const stopped = mode('m', async ({ signal }) => {
      opened.session.interrupt()
      signal.throwIfAborted()
      return 'done'
    })
    const opened: World = await world(stopped)
    await expect(opened.ask({ mode: 'm' })).rejects.toThrow('interrupted')
    expect(opened.session.prompts().at(-1)?.state).toBe('cancelled')
    expect(opened.sent().at(-1)).toMatchObject({
      type: 'prompt.error',
      prompt_id: 'task/0/ask/prompt',
      state: 'cancelled',
      error: { message: 'interrupted' },
    })
  })
})

it('that was stored before modes existed is classic (R160, R161, TV24)', () => {
  const stored = { id: 'p', userId: 'ada', state: 'completed', input: 'Hi.' }
  expect(readPrompt(stored)).toEqual({ ...stored, mode: 'classic', model: 'normal', visible: true, output: [] })
  expect(() => readPrompt({ ...stored, state: 'done' })).toThrow('invalid prompt in the history: state: ')
})

it('has its outputs in one timeline: a tool is pending first, and ends in its place (R172)', () => {
  let now = 0
  const added: unknown[] = []
  const timeline = createTimeline({
    now: () => new Date((now += 1000)),
    onOutput: (output, index) => added.push([index, output.type]),
  })
  const ended = timeline.addTool({ id: 'c', function: 'read', input: { path: 'a' } })
  timeline.addText('Wait.', { interim: true })
  timeline.addTool({ id: 'd', function: 'code.execute', input: { code: '1' } })
  expect(timeline.all()).toMatchObject([
    { result: { type: 'pending' } },
    { type: 'text', interim: true },
    { function: 'code.execute', result: { type: 'pending', reason: 'Executing...' } },
  ])
  ended({ output: 'text of a' })
  timeline.addFile({ type: 'file', name: 'a.png', mediaType: 'image/png', data: '' })
  expect(timeline.all()).toMatchObject([
    {
      function: 'read',
      result: { type: 'success', output: 'text of a' },
      start: '1970-01-01T00:00:01.000Z',
      end: '1970-01-01T00:00:04.000Z',
    },
    { type: 'text', text: 'Wait.' },
    { function: 'code.execute' },
    { type: 'file', file: { name: 'a.png' } },
  ])
  expect(added).toEqual([
    [0, 'tool'],
    [1, 'text'],
    [2, 'tool'],
    [3, 'file'],
  ])
})
