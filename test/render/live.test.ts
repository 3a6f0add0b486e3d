import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { noUsage } from '../../src/event/message.ts'
import { createLiveView } from '../../src/render/live.ts'
import { createPaint } from '../../src/render/style.ts'
import { widthOf } from '../../src/base/width.ts'
import { answered, asking, ending, event, piece, planned, started } from '../helpers/run-events.ts'
import { VirtualTerminal } from '../helpers/virtual-terminal.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Opened {
  readonly terminal: VirtualTerminal
  readonly writes: readonly string[]
  readonly say: (text: string) => void
  readonly add: (events: readonly RunEvent[]) => void
  readonly wait: (ms: number) => void
  readonly stop: () => void
  readonly goOn: () => void
  readonly hold: () => () => void
  readonly close: () => void
}

function open(columns = 60, rows = 24): Opened {
  const terminal = new VirtualTerminal(columns, rows)
  const writes: string[] = []
  const stop = new AbortController()
  const listeners = new Set<() => void>()
  const write = (text: string): void => {
    writes.push(text)
    terminal.write(text)
    expect(terminal.cursorShown && terminal.wraps, 'as it was, after each write').toBe(true)
    expect(terminal.lost, 'nothing is wider than the screen').toBe('')
  }
  const live = createLiveView(write, {
    paint: createPaint({ env: { FORCE_COLOR: '1' }, isTerminal: true }),
    columns: () => terminal.columns,
    rows: () => terminal.height,
    now: () => Date.now(),
    signal: stop.signal,
    onContinue: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  })
  return {
    terminal,
    writes,
    say: live.above(write),
    add: (events) => events.forEach((item) => live.event(item)),
    // what is drawn after a timer is drawn a moment later
    wait: (ms) => void vi.advanceTimersByTime(ms).advanceTimersByTime(1),
    stop: () => stop.abort(),
    goOn: () => listeners.forEach((listener) => listener()),
    hold: live.hold,
    close() {
      live.close()
      expect(listeners.size).toBe(0)
    },
  }
}

describe('the live view', () => {
  it('shows totals, tasks, their activity, and the end of the streamed text', () => {
    const { terminal, add, wait } = open()
    const total = { ...noUsage, calls: 1, input: 1200, output: 34 }
    add([started('prompt'), planned(3), ...asking(0), ...asking(1), ...answered(0), ...asking(2)])
    add([event({ type: 'usage', model: 'm', call: total, total, cost_usd: 0.02, total_cost_usd: 0.02 })])
    add([piece(2, 'One\ntwo\u001b[31m three 😀 four and so on, until the line is full')])
    const error = { code: 'MODEL_FAILED', message: '429 too many requests' }
    add([event({ type: 'retry', item_id: '', model: 'm', attempt: 1, delay_ms: 8000, error }, 'task/1/ask')])
    wait(2000)
    expect(terminal.screen()).toEqual([
      '2s · 1/3 tasks · $0.020 · 1,200 tokens in, 34 out',
      '  file-1.ts  2s  retry in 6s: 429 too many requests',
      '  file-2.ts  2s  answering  … so on, until the line is full',
    ])
  })

  it('stays small with a team of twenty agents: working agents are shown, and the others are counted', () => {
    const { terminal, add, wait } = open(70)
    add([started('prompt'), planned(1), ...asking(0, { label: 'lead.md' })])
    for (let index = 0; index < 20; index += 1) {
      const place = `task/0/ask/turn/0/tool/${index}:spawn_agent/agent/worker/input/0`
      const id = `id-${index}`
      const status = index < 3 || index > 17 ? 'running' : 'pending_init'
      add([
        event({ type: 'collab.status', thread_id: id, name: 'worker', role: 'worker', status }, 'task/0/ask'),
        event({ type: 'agent.started', name: 'worker', kind: 'prompt', id, description: `part ${index}` }, place),
        event({ type: 'item.started', item: { id: place, type: 'agent_message' } }, `${place}/ask`),
      ])
    }
    wait(1000)
    expect(terminal.screen()).toEqual([
      '1s · 20 agents',
      '  lead.md               1s  asking the model',
      '    worker 1: part 0    1s  asking the model',
      '    worker 2: part 1    1s  asking the model',
      '    worker 3: part 2    1s  asking the model',
      '    worker 19: part 18  1s  asking the model',
      '    worker 20: part 19  1s  asking the model',
      '  + 15 more, 15 queued',
    ])
  })

  it('holds back lines while a question is on the terminal, and writes them in order afterwards', () => {
    const { terminal, add, wait, say, hold, close } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    wait(100)
    const releases = [hold(), hold()]
    terminal.write('allow it? ')
    say('read a.ts\n')
    say('edit a.ts\n')
    wait(500)
    expect(terminal.screen()).toEqual(['allow it?'])
    terminal.write('yes\n')
    releases[0]?.()
    expect(terminal.screen()).toEqual(['allow it? yes'])
    releases[1]?.()
    expect(terminal.screen()).toEqual(['allow it? yes', 'read a.ts', 'edit a.ts'])
    hold()
    say('the last line\n')
    close()
    expect(terminal.screen()).toContain('the last line')
  })

  it('shows one task with its text on a line of its own', () => {
    const { terminal, add, wait, stop } = open(40)
    add([started('prompt'), planned(1), ...asking(0, { label: 'ask.md' }), piece(0, 'word '.repeat(20))])
    wait(1000)
    expect(terminal.screen()).toEqual(['1s', '  ask.md  1s  answering', '  …d word word word word word word word'])
    stop()
    wait(100)
    expect(terminal.screen()[0]).toBe('1s · stopping')
  })

  it('shows the last lines of the command that the only task runs', () => {
    const { terminal, add, wait } = open(40)
    const call = { id: 'c', name: 'bash' } as const
    const ask = 'task/0/ask'
    add([
      started('prompt'),
      planned(1),
      ...asking(0, { label: 'ask.md' }),
      event({ type: 'item.completed', item: { id: ask, type: 'agent_message', text: '' } }, ask),
      event({ type: 'tool.started', ...call, input: { command: 'make' } }, ask),
      event({ type: 'tool.output', ...call, text: 'one\n\ttwo\nthree\u001b[2J\n\nfour\nfive' }, ask),
    ])
    wait(1000)
    const lines = terminal.screen()
    expect(lines.slice(1)).toEqual(['  ask.md  1s  bash make', '      two', '  three␛[2J', '  four', '  five'])
    add([event({ type: 'tool.completed', ...call, output: 'five', is_error: false }, ask)])
    wait(100)
    expect(terminal.screen()).toHaveLength(2)
  })

  it('shows that it is starting before there is anything else, and names the running stage and agent', () => {
    const { terminal, add, wait } = open()
    add([started('prompt')])
    wait(100)
    expect(terminal.screen()).toEqual(['0s · starting'])
    add([
      event({ type: 'stage.started', stage: 'pre', agents: ['a.lua'] }, 'pre'),
      event({ type: 'agent.started', name: 'a.lua', kind: 'lua' }, 'pre/0:a.lua'),
      event({ type: 'agent.started', name: 'b.aip', kind: 'aip' }, 'pre/0:a.lua/chunk#1/agent/b.aip'),
    ])
    wait(100)
    expect(terminal.screen()).toEqual(['0s', '  pre  b.aip (+1)  0s'])
  })

  it('uses at most a third of the screen and at most eight lines', () => {
    for (const [rows, most] of [
      [1, 0],
      [3, 1],
      [6, 2],
      [15, 5],
      [60, 8],
    ] as const) {
      const { terminal, add, wait, close } = open(60, rows)
      add([started('prompt'), planned(1000), ...Array.from({ length: 40 }, (_, index) => asking(index)).flat()])
      wait(200)
      expect(terminal.everything().length).toBe(most)
      if (most > 1) expect(terminal.everything().at(-1)).toBe(`  + ${40 - (most - 2)} more`)
      close()
    }
  })

  it('is drawn at most ten times a second, and not at all when nothing has changed', () => {
    const { writes, add, wait } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    for (let count = 0; count < 500; count += 1) {
      add([piece(0, `word ${count} `)])
      wait(1)
    }
    expect(writes.length).toBeLessThanOrEqual(10)
    expect(writes.length).toBeGreaterThan(5)
    wait(1)
    const before = writes.length
    wait(900)
    expect(writes.length).toBe(before)
    // the clock has advanced
    wait(200)
    expect(writes.length).toBe(before + 1)
  })

  it('draws nothing after it was closed, and leaves nothing on the screen', () => {
    const { terminal, writes, add, wait, close, say } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    wait(100)
    say('warning one\n')
    close()
    close()
    const { length } = writes
    add([piece(0, 'x')])
    wait(5000)
    expect(writes.length).toBe(length)
    expect(terminal.everything()).toEqual(['warning one'])
    expect(terminal.cursor()).toEqual({ row: 1, column: 0 })
  })

  it.each([
    ['done', 'done · 1s · $0.020 · 1,200 tokens in, 34 out'],
    ['cancelled', 'stopped · 1s · $0.020 · 1,200 tokens in, 34 out'],
    ['budget', 'failed · 1s · $0.020 · 1,200 tokens in, 34 out'],
    ['skipped', undefined],
  ] as const)('shows the usage of a run that ended as %s', (reason, line) => {
    const { terminal, add, wait, close } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    wait(1500)
    add([...answered(0), ending(reason, { usage: { ...noUsage, calls: 1, input: 1200, output: 34 }, cost_usd: 0.02 })])
    close()
    expect(terminal.everything()).toEqual(line === undefined ? [] : [line])
  })

  it('shows nothing about a run that asked no model', () => {
    const { terminal, add, wait, close } = open()
    add([started('agent')])
    wait(1500)
    add([ending('done')])
    close()
    expect(terminal.everything()).toEqual([])
  })

  it('leaves its last line also after a run that ends at once', () => {
    const { terminal, add, close } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    add([...answered(0), ending('done', { usage: { ...noUsage, calls: 1, input: 1200, output: 34 }, cost_usd: 0.02 })])
    close()
    expect(terminal.everything()).toEqual(['done · 0s · $0.020 · 1,200 tokens in, 34 out'])
  })

  it('is not drawn for a run that ends at once', () => {
    const { writes, add, say, wait, close } = open()
    add([started('agent')])
    wait(50)
    say('done\n')
    wait(10)
    close()
    expect(writes).toEqual(['done\n'])
  })
})

describe('lines above the live view', () => {
  it('are at once in the scroll-back, in order, and the view is redrawn immediately', () => {
    const { terminal, add, wait, say } = open(40, 12)
    add([started('prompt'), planned(50), ...asking(0), ...asking(1)])
    wait(100)
    const said = Array.from({ length: 50 }, (_, index) => `line ${index}${'.'.repeat(index)}`)
    for (const [index, line] of said.entries()) {
      say(`${line}\n`)
      if (index % 7 === 0) wait(30)
      if (index % 3 === 0) add([...asking(index + 2), ...answered(index)])
    }
    wait(100)
    const shown = terminal.everything()
    const top = shown.findIndex((line) => line.includes('/50 tasks'))
    expect(shown.slice(0, top).join('')).toBe(said.join(''))
    expect(shown.length - top).toBe(4)
    say('one more\n')
    wait(1)
    expect(terminal.everything().at(-4)).toContain('/50 tasks')
  })

  it('in quick succession do not redraw it each time', () => {
    const { writes, terminal, add, wait, say } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    wait(100)
    const before = writes.length
    for (let count = 0; count < 90; count += 1) {
      say(`line ${count}\n`)
      wait(1)
    }
    // each line, and three times the view and its removal in each of two frames
    expect(writes.length - before).toBeLessThanOrEqual(90 + 2 * (2 * 3 + 1) + 1)
    wait(100)
    expect(terminal.screen().at(-1)).toContain('asking the model')
  })

  it('are not affected by 1,000 tasks with long, wide and strange labels', () => {
    const { terminal, add, wait, say } = open(40, 20)
    const labels = [
      'src/日本語/ファイル.ts',
      '😀👩\u200d👧 emoji',
      'e\u0301'.repeat(60),
      'x'.repeat(300),
      'a\u001b[2J\nb',
    ]
    add([started('prompt'), planned(1000)])
    const said: string[] = []
    for (let index = 0; index < 1000; index += 1) {
      add(asking(index, { label: `${index} ${labels[index % labels.length]}`, count: 1000 }))
      add([piece(index, `${labels[index % labels.length]} text`)])
      if (index >= 20) add(answered(index - 20))
      if (index % 10 === 0) {
        said.push(`==> ${index} <==`)
        say(`==> ${index} <==\n`)
      }
      if (index % 4 === 0) wait(40)
      const longest = Math.max(0, ...terminal.screen().map(widthOf))
      expect(longest).toBeLessThan(40)
    }
    wait(1000)
    const shown = terminal.everything()
    const top = shown.findIndex((line) => line.includes('/1,000 tasks'))
    expect(shown[top]).toContain('980/1,000 tasks')
    expect(shown.slice(0, top)).toEqual(said)
    expect(shown.length - top).toBe(6)
    expect(shown.at(-1)).toBe('  + 16 more')
  })

  it('survive a terminal that becomes narrow and wide again', () => {
    const { terminal, add, wait, say } = open(100, 30)
    add([started('prompt'), planned(9), ...Array.from({ length: 9 }, (_, index) => asking(index)).flat()])
    for (let index = 0; index < 9; index += 1) add([piece(index, 'a long text that fills the line '.repeat(4))])
    say('first\nsecond\n')
    wait(1000)
    expect(terminal.screen().length).toBe(10)
    for (const [columns, rows] of [
      [40, 30],
      [23, 30],
      [120, 12],
      [61, 24],
    ] as const) {
      terminal.resize(columns, rows)
      wait(100)
      say(`${columns}\n`)
      wait(100)
      const shown = terminal.everything()
      const top = shown.findIndex((line) => line.startsWith('1s'))
      expect(shown.slice(0, 2)).toEqual(['first', 'second'])
      expect(shown[top - 1]).toBe(String(columns))
      expect(shown.length - top).toBe(Math.min(8, Math.floor(rows / 3)))
    }
    expect(terminal.everything().filter((line) => line.includes('tasks')).length).toBe(1)
  })

  it('are not mistaken for the view when the shell has written below it', () => {
    const { terminal, add, wait, goOn } = open()
    add([started('prompt'), planned(1), ...asking(0)])
    wait(100)
    terminal.write('[1]+ Stopped\r\n$ fg\r\n')
    goOn()
    wait(1000)
    expect(terminal.screen()).toEqual([
      '0s',
      '  file-0.ts  0s  asking the model',
      '[1]+ Stopped',
      '$ fg',
      '1s',
      '  file-0.ts  1s  asking the model',
    ])
  })
})
