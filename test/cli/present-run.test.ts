import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import type { GlobalFlags } from '../../src/cli/command.ts'
import type { CommandIo, Surroundings } from '../../src/cli/io.ts'
import { createScreen, presentRun, type ScreenIo } from '../../src/cli/present-run.ts'
import type { ResultFlags } from '../../src/cli/result-file.ts'
import type { RunReport } from '../../src/wiring/conduct.ts'
import { answer, answered, asking, ending, event, planned, started } from '../helpers/run-events.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

interface Shown {
  readonly out: string
  readonly err: string
}

type Given = Partial<Pick<ScreenIo, 'env' | 'outIsTerminal' | 'errIsTerminal'>> & {
  readonly json?: boolean
  readonly level?: 'quiet' | 'normal' | 'verbose'
  /** The result goes to a file, which is `out` here. */
  readonly toFile?: boolean
}

/** A run of 40 seconds with one answer, print and label that contain odd characters, on these streams. */
function show({ json = false, level = 'normal', toFile = false, ...streams }: Given): Shown {
  let out = ''
  let err = ''
  const writeOut = (text: string): void => void (out += text)
  const screen = createScreen(
    { json, level },
    {
      env: { TERM: 'xterm' },
      out: writeOut,
      err: (text) => void (err += text),
      draw: (text) => void (err += text),
      outIsTerminal: false,
      errIsTerminal: false,
      columns: () => 60,
      rows: () => 24,
      onContinue: () => () => undefined,
      signal: new AbortController().signal,
      ...streams,
      result: toFile ? (text) => writeOut(text) : writeOut,
    },
  )
  for (const item of [
    started('prompt'),
    planned(2),
    ...asking(0),
    event({ type: 'print', name: 'a.lua', text: 'seen\u001b[2J' }, 'task/0/pre_task/0:a.lua'),
    event({ type: 'pin', scope: 'run', id: 'p', priority: null, label: 'l\u0007', content: 'pinned' }, 'pre/0:a/chunk'),
  ]) {
    screen.event(item)
  }
  vi.advanceTimersByTime(40_000)
  for (const item of [...answered(0), answer(0, 'one\u001b[2J'), ending('done')]) screen.event(item)
  screen.close()
  screen.close()
  vi.advanceTimersByTime(90_000)
  return { out, err }
}

const raw = { out: '==> file-0.ts <==\none\u001b[2J\n' }
const shown = { out: '==> file-0.ts <==\none␛[2J\n', err: '[a.lua] seen␛[2J\n' }
const pulse = 'running 30s, 0/2 tasks\n'

describe('the output of a run', () => {
  it('is plain lines for pipes: the answer byte for byte, and messages without control characters', () => {
    expect(show({})).toEqual({ out: raw.out, err: `${shown.err}${pulse}l␇ pinned\n` })
  })

  it('is escaped lines on a terminal without a live view', () => {
    const both = { outIsTerminal: true, errIsTerminal: true }
    const expected = { out: shown.out, err: `${shown.err}${pulse}l␇ pinned\n` }
    expect(show({ ...both, env: { TERM: 'dumb' } })).toEqual(expected)
    expect(show({ ...both, env: { TERM: 'xterm', CI: 'true', NO_COLOR: '1' } })).toEqual(expected)
  })

  it('is a live view if stderr is a terminal, without colors on request', () => {
    const { out, err } = show({ errIsTerminal: true, env: { TERM: 'xterm', NO_COLOR: '1' } })
    expect(out).toBe(raw.out)
    expect(err).toContain('0/2 tasks')
    expect(err).toContain('\u001b[?25l')
    // oxlint-disable-next-line no-control-regex
    expect(err).not.toMatch(/\u001b\[[\d;]*m/)
    expect(err).toMatch(/done · 40s · 1\/2 tasks\nl␇ pinned\n$/)
    expect(show({ errIsTerminal: true }).err).toContain('\u001b[1m0/2 tasks\u001b[22m')
  })

  it('is only errors in quiet mode', () => {
    expect(show({ errIsTerminal: true, level: 'quiet' })).toEqual({ out: raw.out, err: '' })
  })

  it('is only JSON lines without control characters', () => {
    for (const outIsTerminal of [false, true]) {
      const { out, err } = show({ json: true, errIsTerminal: true, outIsTerminal })
      const lines = out.trim().split('\n')
      expect(lines.map((line) => (JSON.parse(line) as { readonly type: string }).type)).toContain('answer')
      expect(lines.filter((line) => /\p{Cc}/u.test(line))).toEqual([])
      expect(err).toBe('')
    }
  })

  it('has the same result in a file', () => {
    expect(show({ toFile: true, outIsTerminal: true, errIsTerminal: true }).out).toBe(raw.out.replace(/\n$/, ''))
  })
})

it('says what a suspended run waits for, and how to resume it', async () => {
  let err = ''
  const ignore = (): void => undefined
  const io = {
    err: (text: string) => void (err += text),
    out: ignore,
    env: {},
    errIsTerminal: false,
  } as unknown as CommandIo
  const flags = { json: false, level: 'normal', config: [], output: undefined } as unknown as GlobalFlags & ResultFlags
  const report = {
    exitCode: 5,
    runId: '20261122-100000-abc',
    hasActed: true,
    canResume: true,
    repeated: [],
    error: new BatonError('SUSPENDED', 'waiting for an approval: git push to sk-1'),
    suspended: [{ kind: 'command', place: 'pre/0:deploy/data#1' }],
    mask: (text: string) => text.replaceAll('sk-1', '«secret:KEY»'),
  } as unknown as RunReport
  await presentRun({ flags, around: { cwd: '/w', env: {}, home: '/h' } as Surroundings }, io, async () => report)
  expect(err).toBe(
    [
      'suspended: waiting for an approval: git push to «secret:KEY»',
      '  command pre/0:deploy/data#1',
      'resume: baton resume 20261122-100000-abc',
      '',
    ].join('\n'),
  )
})
