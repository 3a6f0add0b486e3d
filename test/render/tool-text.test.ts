import { expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { createProgress } from '../../src/render/progress.ts'
import { createStepRenderer } from '../../src/render/steps.ts'
import { createPaint } from '../../src/render/style.ts'
import { callText } from '../../src/render/tool-text.ts'
import { composeView } from '../../src/render/live.ts'
import { answered, asking, event, planned, started } from '../helpers/run-events.ts'

const paint = createPaint({ env: {}, isTerminal: false })
const place = 'task/0/ask'

function begin(id: string, name: string, input: Json): RunEvent {
  return event({ type: 'tool.started', id, name, input }, place)
}

function end(
  id: string,
  name: string,
  output: string,
  how: { readonly is_error?: true; readonly denied?: true } = {},
): RunEvent {
  return event({ type: 'tool.completed', id, name, output, is_error: false, ...how }, place)
}

it('shows the most significant argument of a call', () => {
  const calls: readonly (readonly [string, Json, string])[] = [
    ['read', { path: 'src/a.ts', offset: 3 }, 'read src/a.ts'],
    ['grep', { pattern: 'TODO:  now', path: 'src', output: 'count' }, 'grep "TODO: now" src'],
    ['grep', { pattern: 'x', path: '.' }, 'grep "x"'],
    ['glob', { pattern: 'src/**/*.ts' }, 'glob src/**/*.ts'],
    ['edit', { old: 'a', new: 'b', path: 'a.txt' }, 'edit a.txt'],
    ['webfetch', { format: 'text', url: 'https://docs.example/' }, 'webfetch https://docs.example/'],
    ['bash', { command: 'npm test\n\u001b[2Jrm x' }, 'bash npm test ␛[2Jrm x'],
    [
      'todo',
      {
        todos: [
          { content: 'a', status: 'completed' },
          { content: 'b', status: 'in_progress' },
        ],
      },
      'todo 1 of 2 done: b',
    ],
    ['server__search', { limit: 3, words: 'a b' }, 'server__search a b'],
    ['exit_plan', {}, 'exit_plan'],
    ['read', '{"path": "a', 'read {"path": "a'],
    ['read', ['a'], 'read'],
  ]
  for (const [name, input, shown] of calls) expect(callText(name, input)).toBe(shown)
  expect(callText('read', { path: 'x'.repeat(500) }).length).toBe(100)
})

/** What stderr shows of these events. */
function drawn(level: 'quiet' | 'normal' | 'verbose', events: readonly RunEvent[]): string {
  let text = ''
  const renderer = createStepRenderer((part) => (text += part), { paint, level })
  for (const one of events) renderer.event(one)
  return text
}

const calls = [
  begin('1', 'read', { path: 'a.txt' }),
  begin('2', 'edit', { path: 'b.txt' }),
  begin('3', 'webfetch', { url: 'https://a.example/' }),
  end('2', 'edit', 'Error in tool "edit": b.txt has no such text. Near is:\nmore', { is_error: true }),
  end('1', 'read', 'one\ntwo\nthree\nfour\n'),
  end('3', 'webfetch', 'permission denied; to allow it set it', { is_error: true, denied: true }),
]

it('writes one line for each finished call, with the reason if it failed or was denied', () => {
  expect(drawn('normal', calls)).toBe(`failed edit b.txt: b.txt has no such text.
read a.txt
denied webfetch https://a.example/: permission denied; to allow it set it
`)
  expect(drawn('quiet', calls)).toBe('')
})

it('shows the input and the beginning of the result with -v', () => {
  expect(drawn('verbose', calls)).toBe(`failed edit b.txt
  {"path":"b.txt"}
  Error in tool "edit": b.txt has no such text. Near is:
  more
read a.txt
  {"path":"a.txt"}
  one
  two
  three
  …
denied webfetch https://a.example/
  {"url":"https://a.example/"}
  permission denied; to allow it set it
`)
})

it('shows unfinished calls in the live view', () => {
  const answer = event({ type: 'item.completed', item: { id: place, type: 'agent_message', text: '' } }, place)
  const view = (events: readonly RunEvent[]): string => {
    const progress = createProgress(() => 0)
    for (const one of [started('prompt'), planned(1), ...asking(0, { count: 1 }), answer, ...events]) progress.add(one)
    const frame = { columns: 80, rows: 24, paint, now: 0, isStopping: false }
    return composeView(progress.now(), frame)
      .map(({ text }) => text)
      .join('\n')
  }
  expect(view(calls.slice(0, 1))).toContain('file-0.ts  0s  read a.txt')
  expect(view(calls.slice(0, 3))).toContain('read a.txt (+2)')
  expect(view(calls.slice(0, 4))).toContain('read a.txt (+1)')
  expect(view(calls)).not.toMatch(/read|webfetch/)
  const far = (id: string, given: object): RunEvent =>
    event({ type: 'tool.progress', id, name: 's__index', done: 3, ...given }, place)
  expect(view([begin('a', 's__index', {}), far('a', { total: 10, message: 'b.txt' })])).toContain(
    's__index: 3/10 b.txt',
  )
  expect(view([far('a', { total: 4.5 })])).toContain('s__index: 67%')
  expect(view([far('a', { message: '\u001b[2Jc.txt' })])).toContain('s__index: 3 [2Jc.txt')
  expect(view([far('a', {}), far('a', { ended: true })])).not.toContain('s__index')
  // a run that is stopped leaves calls pending
  expect(view([...calls.slice(0, 3), ...answered(0)])).not.toContain('read')
})
