import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { knownModes, refuseUnknownMode } from '../../../src/agent/modes/known.ts'
import type { ExecutionMode, ModeLoop, PromptServices } from '../../../src/agent/modes/mode.ts'
import { createPrompts, type Prompts } from '../../../src/agent/modes/prompts.ts'
import { createExecutionModes } from '../../../src/agent/modes/registry.ts'
import { createLoopExecutor } from '../../../src/agent/modes/prompt-work.ts'
import { createTimeline } from '../../../src/agent/modes/timeline.ts'
import type { EventBody } from '../../../src/event/event.ts'
import type { SpokenDecision } from '../../../src/event/permission.ts'
import type { PromptState } from '../../../src/event/prompt.ts'
import { noUsage, textMessage } from '../../../src/event/message.ts'
import { readPrompt } from '../../../src/agent/modes/stored-prompt.ts'

interface World {
  readonly prompts: Prompts
  readonly sent: EventBody[]
  /** What a mode receives; a loop decides the outcome of the prompt. */
  readonly services: (id?: string) => PromptServices
  readonly stop: AbortController
  /** The decisions about calls, by their ids. */
  readonly decided: (readonly [call: string, decision: SpokenDecision])[]
}

function world(...modes: readonly ExecutionMode[]): World {
  const sent: EventBody[] = []
  const registry = createExecutionModes()
  for (const mode of modes) registry.register(mode)
  const stop = new AbortController()
  const decided: World['decided'] = []
  return {
    decided,
    prompts: createPrompts(registry, (event) => sent.push(event)),
    sent,
    stop,
    services(id = 'p') {
      const work = {
        id,
        signal: stop.signal,
        messages: () => [],
        addMessages: () => {},
        tools: [],
        prepare: async () => {},
        offered: [],
        askAgain: () => {},
        endsHere: () => false,
        hasMail: async () => false,
        ask: async () => ({ text: 'Hello.', calls: [], end: 'done', itemId: 'i', isLast: false }) as const,
        runTools: async () => [],
        program: async () => ({ text: '' }),
        say: () => {},
        refuseCalls: () => {},
        timeline: createTimeline({ now: () => new Date(0), onOutput: () => {} }),
        warn: () => {},
        usage: () => noUsage,
      }
      const decide = (call: string, decision: SpokenDecision): void => void decided.push([call, decision])
      const options = { userId: 'ada', input: [textMessage('user', 'Hi.')], mode: 'm', decide }
      return { ...work, executor: (loop: ModeLoop) => createLoopExecutor(work, options, loop) }
    },
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
  it('gives modes by id and lists them in order; the same id replaces (R156, R157, R158, R159)', () => {
    const modes = createExecutionModes()
    expect(modes.list()).toEqual([])
    for (const one of [mode('x', says('1'), 'first'), mode('y', says('2')), mode('x', says('3'), 'second')]) {
      modes.register(one)
    }
    expect(modes.list().map(({ id, name }) => [id, name])).toEqual([
      ['x', 'second'],
      ['y', 'y'],
    ])
    expect([modes.get('x')?.name, modes.get('z')]).toEqual(['second', undefined])
  })

  it('always has classic (R166)', () => {
    const registry = createExecutionModes()
    createPrompts(registry, () => {})
    expect(registry.list().map(({ id, name }) => [id, name])).toEqual([['classic', 'Classic (text + tools)']])
  })
})

describe('a prompt', () => {
  it('is executed in its mode, and in classic without one (R151, R162, TV24)', async () => {
    const { prompts, services, sent } = world(mode('m', says('Bonjour.')))
    const usual = prompts.create({ services: services('1'), userId: 'ada' })
    const other = prompts.create({ services: services('2'), userId: 'ada', mode: 'm' })
    const signal = new AbortController().signal
    expect((await prompts.execute(usual, signal)).output).toMatchObject([{ type: 'text', text: 'Hello.' }])
    expect((await prompts.execute(other, signal)).output).toMatchObject([{ type: 'text', text: 'Bonjour.' }])
    expect(sent.filter(({ type }) => type === 'prompt.created')).toEqual([
      { type: 'prompt.created', prompt_id: '1', user_id: 'ada', mode: 'classic' },
      { type: 'prompt.created', prompt_id: '2', user_id: 'ada', mode: 'm' },
    ])
  })

  it('of an unknown mode is refused, and nothing is published (R163, R201, TV24)', () => {
    const { prompts, services, sent } = world(mode('steps', says('')))
    expect(() => prompts.create({ services: services(), userId: 'ada', mode: 'nope' })).toThrow(
      'Unknown execution mode: "nope"',
    )
    expect(() => refuseUnknownMode('clasic', knownModes())).toThrow(
      expect.objectContaining({ hint: 'Did you mean "classic"?' }),
    )
    expect([sent, prompts.active.size]).toEqual([[], 0])
  })

  it('is active until it has ended, and then completed with its usage (R164, R179)', async () => {
    let seen: readonly string[] = []
    const { prompts, services, sent } = world(
      mode('m', async () => {
        seen = [...prompts.active.keys()]
        return 'done'
      }),
    )
    const executor = prompts.create({ services: services(), userId: 'ada', mode: 'm' })
    expect(executor).toMatchObject({ id: 'p', userId: 'ada', state: 'running', usage: noUsage })
    const prompt = await prompts.execute(executor, new AbortController().signal)
    expect([seen, prompts.active.size]).toEqual([['p'], 0])
    expect(prompt).toEqual({
      id: 'p',
      userId: 'ada',
      mode: 'm',
      model: 'normal',
      visible: true,
      state: 'completed',
      input: 'Hi.',
      output: [],
      usage: noUsage,
    })
    expect(sent.at(-1)).toEqual({ type: 'prompt.completed', prompt_id: 'p', usage: noUsage })
  })

  it('hands what is said about its calls on to them (R153)', async () => {
    const { prompts, services, decided } = world()
    const executor = prompts.create({ services: services(), userId: 'ada' })
    await executor.approve?.('call-1')
    await executor.reject?.('call-2', 'not there')
    await executor.reject?.('call-3')
    expect(decided).toEqual([
      ['call-1', 'allow'],
      ['call-2', { remark: 'not there' }],
      ['call-3', 'deny'],
    ])
  })

  it.each([
    ['failed', new BatonError('MODEL_FAILED', 'the server is away'), ['prompt.created', 'prompt.error']],
    ['waiting_for_approval', new BatonError('SUSPENDED', 'later'), ['prompt.created']],
  ] as [PromptState, BatonError, string[]][])(
    'that ends as %s says so, and is active no more (R205)',
    async (state, error, types) => {
      const { prompts, services, sent, stop } = world(mode('m', () => Promise.reject(error)))
      const executor = prompts.create({ services: services(), userId: 'ada', mode: 'm' })
      await expect(prompts.execute(executor, stop.signal)).rejects.toBe(error)
      expect([executor.state, prompts.active.size, sent.map(({ type }) => type)]).toEqual([state, 0, types])
      const { code, message } = error
      const told = sent.filter(({ type }) => type === 'prompt.error')
      expect(told).toEqual(
        types.includes('prompt.error')
          ? [{ type: 'prompt.error', prompt_id: 'p', state, error: { code, message } }]
          : [],
      )
    },
  )

  it('that is interrupted is cancelled, after its error', async () => {
    const { prompts, services, sent, stop } = world(
      mode('m', async ({ signal }) => {
        stop.abort(new Error('stop'))
        signal.throwIfAborted()
        return 'done'
      }),
    )
    const executor = prompts.create({ services: services(), userId: 'ada', mode: 'm' })
    await expect(prompts.execute(executor, stop.signal)).rejects.toThrow('stop')
    expect(executor.state).toBe('cancelled')
    const error = { code: 'INTERNAL', message: 'stop' }
    expect(sent.at(-1)).toEqual({ type: 'prompt.error', prompt_id: 'p', state: 'cancelled', error })
  })
})

it('stored before there were modes is classic (R160, R161, TV24)', () => {
  const stored = { id: 'p', userId: 'ada', state: 'completed', input: 'Hi.' }
  expect(readPrompt(stored)).toEqual({ ...stored, mode: 'classic', model: 'normal', visible: true, output: [] })
  expect(() => readPrompt({ ...stored, state: 'done' })).toThrow('invalid prompt in the history: state: ')
})

it('has its outputs in one timeline: a tool is pending first, and ended in its place (R172)', () => {
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
