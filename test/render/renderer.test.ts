import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EventBody, RunEvent } from '../../src/event/event.ts'
import { noUsage } from '../../src/event/message.ts'
import { escapeControls, harmless } from '../../src/base/terminal-text.ts'
import { formatClock, formatDuration, formatUsage, oneLine } from '../../src/render/format.ts'
import { createPulseRenderer } from '../../src/render/live.ts'
import {
  createAnswerRenderer,
  createJsonRenderer,
  createPinRenderer,
  type Renderer,
  withHarmlessText,
} from '../../src/render/renderer.ts'
import { createStepRenderer } from '../../src/render/steps.ts'
import { createPaint } from '../../src/render/style.ts'
import { answer } from '../helpers/run-events.ts'

const plain = createPaint({ env: {}, isTerminal: false })

function event(body: EventBody, agent = ''): RunEvent {
  return { ...body, seq: 0, ts: '', run_id: 'r', agent }
}

function started(target: 'prompt' | 'agent'): EventBody {
  return { type: 'run.started', schema: 1, file: 'a', target, file_hash: null, version: '0', config_warnings: [] }
}

/** What a renderer writes for these events. */
function drawn(create: (write: (text: string) => void) => Renderer, bodies: readonly EventBody[]): string {
  let text = ''
  const renderer = create((part) => (text += part))
  for (const body of bodies) renderer.event(event(body))
  renderer.close?.()
  return text
}

describe('pins', () => {
  const pin = (content: string, agent: string): RunEvent =>
    event({ type: 'pin', scope: 'run', id: 'a', priority: 1, label: 'Round:', content }, agent)

  it('of a round are shown when the next one begins, those of the last round at the end', () => {
    let text = ''
    const renderer = createPinRenderer((part) => (text += part), { paint: plain })
    renderer.event(pin('0', 'main/output'))
    renderer.event(pin('1', 'main/output'))
    expect(text).toBe('')
    // a round of an inner agent is not one of the run
    renderer.event(event({ type: 'redo', count: 1 }, 'pre/0:child.md'))
    expect(text).toBe('')
    renderer.event(event({ type: 'redo', count: 1 }))
    expect(text).toBe('Round: 1\n')
    renderer.event(event({ type: 'redo', count: 2 }, 'redo/1'))
    renderer.event(pin('2', 'redo/2/main/output'))
    renderer.close?.()
    expect(text).toBe('Round: 1\nRound: 2\n')
  })
})

describe('the result on stdout', () => {
  it('is one unchanged answer, with a newline at its end', () => {
    expect(
      drawn(createAnswerRenderer, [started('prompt'), { type: 'answer', index: 0, count: 1, label: 'a', text: 'one' }]),
    ).toBe('one\n')
  })

  it('contains a secret that the event masks, and in a file nothing is added', () => {
    let text = ''
    const renderer = createAnswerRenderer((part) => (text += part), { lastLine: 'as it is' })
    const hidden = (index: number): EventBody => ({
      type: 'answer',
      index,
      count: 2,
      label: `l${index}`,
      text: '«secret»',
    })
    renderer.event(event(hidden(0)), 'sesame')
    renderer.event(event(hidden(1)), ' open ')
    expect(text).toBe('==> l0 <==\nsesame\n\n==> l1 <==\n open ')
  })

  it('has a heading for each of several answers', () => {
    const answers = ['one', 'two\n'].map((text, index): EventBody => ({
      type: 'answer',
      index,
      count: 2,
      label: `l${index}`,
      text,
    }))
    expect(drawn(createAnswerRenderer, [started('prompt'), ...answers])).toBe('==> l0 <==\none\n\n==> l1 <==\ntwo\n')
  })

  it('contains the prints and string outputs of an agent, but no prints of a prompt file', () => {
    const print: EventBody = { type: 'print', name: 'x', text: 'hello' }
    const outputs: EventBody[] = [
      { type: 'output', output: 'text' },
      { type: 'output', output: { a: 1 } },
    ]
    expect(drawn(createAnswerRenderer, [started('agent'), print, ...outputs])).toBe('hello\ntext\n')
    expect(drawn(createAnswerRenderer, [started('agent'), { ...print, text: 'a\n' }, print])).toBe('a\n\nhello\n')
    expect(drawn(createAnswerRenderer, [started('prompt'), print])).toBe('')
  })
})

describe('lines on stderr', () => {
  const bodies: EventBody[] = [
    started('prompt'),
    { type: 'warning', message: 'careful', hint: 'do this' },
    { type: 'print', name: 'p.lua', text: 'seen' },
    { type: 'agent.started', name: 'main', kind: 'llm' },
    {
      type: 'usage',
      model: 'm',
      call: { ...noUsage, input: 1234, output: 5 },
      total: noUsage,
      cost_usd: 0.0021,
      total_cost_usd: null,
    },
  ]

  it.each([
    ['quiet', ''],
    ['normal', 'warning careful\n  do this\n[p.lua] seen\n'],
    [
      'verbose',
      'run r a\nwarning careful\n  do this\n[p.lua] seen\nstart main\nmodel m 1,234 tokens in, 5 out, $0.0021\n',
    ],
  ] as const)('%s', (level, expected) => {
    expect(drawn((write) => createStepRenderer(write, { paint: plain, level }), bodies)).toBe(expected)
  })
})

it('writes one JSON line for each event', () => {
  const text = drawn(createJsonRenderer, [started('prompt'), { type: 'item.delta', item_id: 'i', text: 'a\u2028\nb' }])
  expect(text.endsWith('\n')).toBe(true)
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as RunEvent).type),
  ).toEqual(['run.started', 'item.delta'])
})

describe('a plain run that takes a long time', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('reports its progress every half minute, and nothing after its end', () => {
    let text = ''
    const pulse = createPulseRenderer((part) => (text += part), { now: () => Date.now() })
    pulse.event(event(started('prompt')))
    pulse.event(event({ type: 'tasks.planned', count: 3, concurrency: 1 }))
    vi.advanceTimersByTime(29_000)
    expect(text).toBe('')
    pulse.event(event({ type: 'task.completed', index: 0, label: 'a', output: '' }, 'task/0'))
    vi.advanceTimersByTime(31_000)
    expect(text).toBe('running 30s, 1/3 tasks\nrunning 1m 00s, 1/3 tasks\n')
    pulse.close()
    vi.advanceTimersByTime(90_000)
    expect(text.split('\n').length).toBe(3)
  })
})

describe('formats', () => {
  it.each([
    [950, '950ms'],
    [3240, '3.2s'],
    [125_400, '2m 05s'],
  ])('%d ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it.each([
    [950, '0s'],
    [59_999, '59s'],
    [125_400, '2m 05s'],
    [3_661_000, '1h 01m'],
  ])('%d ms on the clock is %s', (ms, text) => {
    expect(formatClock(ms)).toBe(text)
  })

  it('omit tokens that were not counted', () => {
    expect(formatUsage(noUsage)).toBe('')
    expect(formatUsage({ input: 1200, output: 34, estimated: true })).toBe('~1,200 tokens in, 34 out')
  })

  it('turn any text into one safe line', () => {
    expect(oneLine('a\n\tb\u001b[2Jc\u0007', 20)).toBe('a b[2Jc')
    expect(oneLine('äöü😀x', 4)).toBe('äöü…')
  })
})

describe('colors', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ TERM: 'dumb' }, true, false],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ])('with %j on a terminal (%s): %s', (env, isTerminal, colored) => {
    expect(createPaint({ env, isTerminal })('red', 'x') !== 'x').toBe(colored)
  })
})

describe('foreign text on a terminal', () => {
  it.each([
    ['plain\n\ttext äöü 日本 😀', 'plain\n\ttext äöü 日本 😀'],
    ['a\r\nb', 'a\nb'],
    ['\u001b[1;31mred\u001b[0m', 'red'],
    ['a\u001b[2Jb', 'a␛[2Jb'],
    ['\u001b]0;title\u0007', '␛]0;title␇'],
    ['\u001b]8;;https://x.example\u001b\\link', '␛]8;;https://x.example␛\\link'],
    ['over\rwritten\b', 'over␍written␈'],
    ['\u009b2J\u007f\0', '\ufffd2J␡␀'],
    ['user\u202e \u2066// admin\u2069', 'user\ufffd \ufffd// admin\ufffd'],
    // removing something must not join its neighbors into something new
    ['\u001b\u001b[31m[2J', '␛[2J'],
  ])('%j becomes %j', (text, shown) => {
    expect(harmless(text)).toBe(shown)
    expect(harmless(shown)).toBe(shown)
  })

  it('is escaped in every field of an event', () => {
    let text = ''
    const renderer = withHarmlessText(createAnswerRenderer((part) => (text += part)))
    renderer.event(event(started('prompt')))
    renderer.event({ ...answer(0, 'x\u001b[2J'), label: 'l\u0007' } as ReturnType<typeof answer>)
    expect(text).toBe('==> l␇ <==\nx␛[2J\n')
  })

  it('is one line in the live view, in one direction', () => {
    expect(oneLine('a\n\tb\u001b[2Jc\u0007\u202ed\u001b[31m', 20)).toBe('a b[2Jcd')
  })
})

it('shows JSON on a terminal with the same meaning and without control characters', () => {
  let json = ''
  createJsonRenderer((text) => (json += text)).event(answer(0, 'a\u001b\u009b\u007f\u202e日'))
  const shown = escapeControls(json)
  expect(shown).toMatch(/^[^\p{Cc}\u202e]+\n$/u)
  expect(JSON.parse(shown)).toEqual(JSON.parse(json))
})

describe('the report of file changes', () => {
  const items: Extract<EventBody, { readonly type: 'changes.applied' }>['items'] = [
    { file_path: 'a.js', kind: 'New', success: true, replaced: true },
    { file_path: 'd.js', from_path: 'b.js', kind: 'Rename', success: true },
    { file_path: 'c.js', kind: 'Patch', success: false, error_msg: '1 of 1 hunks failed' },
  ]
  const report: EventBody = { type: 'changes.applied', items, base_dir: 'sub' }

  it('names replaced files, both ends of a move, and files relative to the workspace', () => {
    expect(drawn((write) => createStepRenderer(write, { paint: plain, level: 'normal' }), [report])).toBe(
      'replaced sub/a.js\nrename   sub/b.js to sub/d.js\nfailed   sub/c.js: 1 of 1 hunks failed\n',
    )
  })

  it('shows only omitted changes in quiet mode', () => {
    expect(drawn((write) => createStepRenderer(write, { paint: plain, level: 'quiet' }), [report])).toBe(
      'failed   sub/c.js: 1 of 1 hunks failed\n',
    )
  })
})

describe('agents of a team in plain lines', () => {
  const place = 'task/0/ask/turn/0/tool/0:spawn_agent/agent/worker/input/0'
  const agent = { name: 'worker', id: '6f9b5c1e' } as const
  const begin: EventBody & { agent: string } = {
    type: 'agent.started',
    ...agent,
    kind: 'prompt',
    description: 'count',
    agent: place,
  }
  const usage = { calls: 1, input: 1000, output: 20, cached: 0, reasoning: 0 }

  it.each([
    [
      { type: 'agent.completed', ...agent, stop_reason: 'done', usage, cost_usd: 0.01 },
      'done worker 1 (count): 1,000 tokens in, 20 out, $0.010\n',
    ],
    [{ type: 'agent.completed', ...agent, stop_reason: 'stopped' }, 'stopped worker 1 (count)\n'],
    [
      { type: 'agent.failed', ...agent, error: { code: 'X', message: 'no such model' } },
      'failed worker 1 (count): no such model\n',
    ],
  ] as const)('show how a piece of work has ended: %j', (body, text) => {
    const draw = (level: 'normal' | 'quiet'): string => {
      let out = ''
      const renderer = createStepRenderer((piece) => (out += piece), { paint: plain, level })
      for (const { agent: at, ...rest } of [begin, { ...body, agent: place }])
        renderer.event(event(rest as EventBody, at))
      return out
    }
    expect(draw('normal')).toBe(text)
    expect(draw('quiet')).toBe('')
  })
})

it('the name of a tool, which a model chose, stays on its line and contains no escape sequences', () => {
  const name = 'x\n::error file=a.ts::forged\u001b]0;T\u0007'
  const text = drawn(
    (write) => createStepRenderer(write, { paint: plain, level: 'normal' }),
    [
      { type: 'tool.started', id: '1', name, input: {} },
      { type: 'tool.completed', id: '1', name, output: 'unknown', is_error: true, duration_ms: 1 } as EventBody,
    ],
  )
  expect(text).toMatch(/^failed x␊::error file=a\.ts::forged␛\]0;T␇: unknown\n$/)
})
