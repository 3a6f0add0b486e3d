import { describe, expect, it } from 'vitest'
import type { WatchPlan } from '../../src/watch/plan.ts'
import {
  type RunCause,
  watch,
  type WatchControls,
  type WatchedEnd,
  type WatchMessage,
} from '../../src/watch/session.ts'
import { fakeClock } from '../helpers/fake-clock.ts'

interface Going {
  /** Counts from 1. */
  readonly number: number
  readonly signal: AbortSignal
}

/** A session over files that exist only in memory: `paths` are what each run reads. */
function startSession(
  paths: readonly string[],
  work: (going: Going, session: Session) => Promise<void | WatchedEnd> | void,
  { own = new Set<string>(), isPending = (): boolean => false, tellsSaves = false } = {},
): Session {
  const files = new Map(paths.map((path) => [path, 'first']))
  const messages: WatchMessage[] = []
  const seen: string[][] = []
  const causes: RunCause[] = []
  const stop = new AbortController()
  let controls: WatchControls | undefined
  let wake: () => void = () => {}
  const told = new Set<() => void>()
  let closed = 0

  function read(): WatchPlan {
    const watched = paths.map((path) => {
      const look = (): string | null => files.get(path) ?? null
      return [path, { print: look(), look }] as const
    })
    return { files: new Map(watched), lists: new Map() }
  }

  let reading: WatchPlan | undefined
  const session: Omit<Session, 'end'> = {
    messages,
    seen,
    causes,
    closed: () => closed,
    key: (key) => controls?.key(key),
    interrupt: () => controls?.interrupt() ?? false,
    abort: () => stop.abort(),
    write(path, content) {
      files.set(path, content)
      wake()
    },
    remove(path) {
      files.delete(path)
      wake()
    },
    wake: () => wake(),
    async says(kind) {
      while (!messages.some((message) => message.kind === kind)) await new Promise<void>((resolve) => told.add(resolve))
    },
    async rests(times) {
      const count = (): number => messages.filter(({ kind }) => kind === 'waiting' || kind === 'paused').length
      while (count() < times) await new Promise<void>((resolve) => told.add(resolve))
    },
  }
  const end = watch(
    {
      async run(_before, signal, cause) {
        const plan = read()
        reading = plan
        causes.push(cause)
        seen.push(paths.map((path) => files.get(path) ?? '(none)'))
        const result = await work({ number: seen.length, signal }, { ...session, end: Promise.resolve() })
        return result ?? { kind: 'watch', plan }
      },
      open({ onChange }) {
        wake = onChange
        return { follow: async () => {}, close: async () => void (closed += 1) }
      },
      say(message) {
        messages.push(message)
        for (const tell of told) tell()
        told.clear()
      },
      ...(tellsSaves && { reading: { count: () => reading?.files.size, plan: () => reading ?? read() } }),
      ownAmong: (paths) => ({ own: new Set(paths.filter((path) => own.has(path))), isPending: isPending() }),
      clock: fakeClock(),
    },
    { start: (given) => (controls = given), signal: stop.signal },
  )
  return { ...session, end }
}

interface Session {
  readonly end: Promise<unknown>
  readonly messages: readonly WatchMessage[]
  /** What each run has read. */
  readonly seen: readonly (readonly string[])[]
  /** Why each run was started. */
  readonly causes: readonly RunCause[]
  readonly closed: () => number
  readonly key: (key: string) => void
  readonly interrupt: () => boolean
  readonly abort: () => void
  readonly write: (path: string, content: string) => void
  readonly remove: (path: string) => void
  readonly wake: () => void
  /** Resolves once there is a message of this kind. */
  readonly says: (kind: WatchMessage['kind']) => Promise<void>
  /** Resolves once watching has become idle this many times. */
  readonly rests: (times: number) => Promise<void>
}

const kinds = ({ messages }: Session): readonly string[] => messages.map(({ kind }) => kind)

describe('a watch session', () => {
  it('runs, and runs again when a file that was read has changed', async () => {
    const session = startSession(['/a', '/b'], () => {})
    await session.rests(1)
    session.write('/b', 'second')
    await session.rests(2)
    session.key('q')
    expect(await session.end).toEqual({ kind: 'quit' })
    expect(session.seen).toEqual([
      ['first', 'first'],
      ['first', 'second'],
    ])
    expect(session.messages).toEqual([
      { kind: 'waiting', files: 2 },
      { kind: 'changed', paths: ['/b'] },
      { kind: 'waiting', files: 2 },
    ])
    expect(session.closed()).toBe(1)
  })

  it('does not run when a file is written with the same content', async () => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    session.write('/a', 'first')
    session.wake()
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['second']])
  })

  it('turns twenty saves during a run into one more run, which sees the last of them', async () => {
    const session = startSession(['/a'], ({ number }, { write }) => {
      if (number === 1) for (let save = 1; save <= 20; save += 1) write('/a', `save ${save}`)
    })
    await session.rests(1)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['save 20']])
  })

  it('says once during a run that a file was saved, and not for what Baton itself has changed', async () => {
    const session = startSession(
      ['a', 'b', 'mine'],
      async ({ number }, { write, says, messages }) => {
        if (number > 1) return
        write('mine', 'changed by an undo')
        write('a', 'second')
        await says('saved')
        write('b', 'second')
        expect(messages).toEqual([{ kind: 'saved', paths: ['a'] }])
      },
      { own: new Set(['mine']), tellsSaves: true },
    )
    await session.rests(1)
    expect(session.messages.filter(({ kind }) => kind === 'saved')).toHaveLength(1)
    expect(session.seen).toEqual([
      ['first', 'first', 'first'],
      ['second', 'second', 'changed by an undo'],
    ])
    session.abort()
    await session.end
  })

  it('says that no run follows a save if the file is as the run has read it in the end', async () => {
    const session = startSession(
      ['a'],
      async (_, { write, says }) => {
        write('a', 'second')
        await says('saved')
        write('a', 'first')
      },
      { tellsSaves: true },
    )
    await session.rests(1)
    expect(kinds(session)).toEqual(['saved', 'unchanged', 'waiting'])
    session.abort()
    await session.end
  })

  it('detects a change during a run even without a notification', async () => {
    const session = startSession(['/a'], ({ number }, { write }) => {
      if (number === 2) write('/a', 'quietly')
    })
    await session.rests(1)
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['second'], ['quietly']])
  })

  it('waits for a deleted file that is restored', async () => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    session.remove('/a')
    // the next turn of the loop comes long before the waiting time for a missing file is over
    await new Promise((resolve) => setImmediate(resolve))
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['second']])
  })

  it('waits for a file that is truncated and then written', async () => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    session.write('/a', '')
    // the next turn of the loop comes long before the waiting time for an empty file is over
    await new Promise((resolve) => setImmediate(resolve))
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['second']])
  })

  it('runs for a file that stays empty', async () => {
    const session = startSession(['/a', '/b'], () => {})
    await session.rests(1)
    session.write('/a', '')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen.at(-1)).toEqual(['', 'first'])
  })

  it('waits for a truncated file even if a rerun is requested', async () => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    session.write('/a', '')
    session.key('r')
    await new Promise((resolve) => setImmediate(resolve))
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['second']])
  })

  it('runs for a file that is saved while the session checks what Baton itself has changed', async () => {
    const own = new Set<string>()
    const isPending = (): boolean => {
      // the answer was already given
      if (own.delete('/a')) session.write('/a', 'saved')
      return false
    }
    const session = startSession(['/a', '/b'], () => {}, { own, isPending })
    await session.rests(1)
    own.add('/a')
    session.write('/a', 'undone')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(kinds(session)).toEqual(['waiting', 'changed', 'waiting'])
  })

  it('does not run for changes by Baton itself, but for later changes of the same files', async () => {
    const own = new Set<string>()
    const session = startSession(['/a', '/b'], () => {}, { own })
    await session.rests(1)
    own.add('/a')
    session.write('/a', 'undone')
    while (!kinds(session).includes('own')) await new Promise((resolve) => setImmediate(resolve))
    own.clear()
    session.write('/b', 'second')
    await session.rests(2)
    session.write('/a', 'saved')
    await session.rests(3)
    session.key('q')
    await session.end
    expect(session.messages).toEqual([
      { kind: 'waiting', files: 2 },
      { kind: 'own', paths: ['/a'] },
      { kind: 'changed', paths: ['/b'] },
      { kind: 'waiting', files: 2 },
      { kind: 'changed', paths: ['/a'] },
      { kind: 'waiting', files: 2 },
    ])
  })

  it('names only files that somebody else has changed as the reason of a run', async () => {
    const session = startSession(['/a', '/b'], () => {}, { own: new Set(['/a']) })
    await session.rests(1)
    session.write('/a', 'undone')
    session.write('/b', 'saved')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen.at(-1)).toEqual(['undone', 'saved'])
    expect(session.messages).toContainEqual({ kind: 'changed', paths: ['/b'] })
  })

  it('waits until Baton has finished changing files', async () => {
    let asked = 0
    const isPending = (): boolean => (asked += 1) < 100
    const session = startSession(['/a'], () => {}, { isPending })
    await session.rests(1)
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(asked).toBeGreaterThanOrEqual(100)
    expect(session.seen).toEqual([['first'], ['second']])
  })

  it('runs for a file that stays deleted', async () => {
    const session = startSession(['/a', '/b'], () => {})
    await session.rests(1)
    session.remove('/a')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen.at(-1)).toEqual(['(none)', 'first'])
  })

  it('pauses after three consecutive runs that were started by changes during runs, and names the files', async () => {
    const session = startSession(['/a', '/b'], ({ number }, { write }) => write('/b', `run ${number}`))
    await session.rests(1)
    expect(kinds(session)).toEqual(['changed', 'changed', 'changed', 'paused'])
    expect(session.messages.at(-1)).toEqual({ kind: 'paused', paths: ['/b'] })
    expect(session.seen).toHaveLength(4)

    session.write('/a', 'while idle')
    await session.rests(2)
    expect(session.seen).toHaveLength(8)
    expect(session.seen[4]).toEqual(['while idle', 'run 4'])

    session.key('r')
    await session.rests(3)
    expect(session.seen).toHaveLength(12)
    session.key('q')
    await session.end
  })

  it('stays paused for the named files until a key is pressed or another file changes', async () => {
    const session = startSession(['/a', '/b', '/c'], ({ number }, { write }) => {
      if (number < 5) write('/b', `run ${number}`)
    })
    await session.rests(1)
    for (let time = 1; time <= 5; time += 1) {
      session.write('/b', `noise ${time}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    session.remove('/b')
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(session.seen).toHaveLength(4)

    session.write('/b', 'noise')
    session.write('/c', 'saved')
    await session.rests(2)
    expect(session.messages.at(-2)).toEqual({ kind: 'changed', paths: ['/c'] })
    expect(session.seen.slice(4)).toEqual([['first', 'noise', 'saved']])

    session.write('/b', 'counts again')
    await session.rests(3)
    expect(session.seen.slice(5)).toEqual([['first', 'counts again', 'saved']])
    session.key('q')
    await session.end
  })

  it('resumes after a key, and the run reads the current content of the files', async () => {
    const session = startSession(['/a'], ({ number }, { write }) => {
      if (number < 5) write('/a', `run ${number}`)
    })
    await session.rests(1)
    session.write('/a', 'noise')
    session.key('r')
    await session.rests(2)
    expect(session.seen.slice(4)).toEqual([['noise']])
    expect(session.causes.at(-1)).toBe('requested')
    session.key('q')
    await session.end
  })

  it('counts only consecutive runs', async () => {
    const session = startSession(['/a'], ({ number }, { write }) => {
      if (number % 4 !== 0) write('/a', `run ${number}`)
    })
    await session.rests(1)
    session.key('r')
    await session.rests(2)
    expect(kinds(session).filter((kind) => kind === 'paused')).toEqual([])
    expect(session.seen).toHaveLength(8)
    session.key('q')
    await session.end
  })

  it.each(['r', '\r', '\n'])('runs again for the key %j, and does nothing for others', async (key) => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    session.key('x')
    session.key(key)
    await session.rests(2)
    expect(session.seen).toHaveLength(2)
    session.key('q')
    await session.end
  })

  it('gives each run its reason: first run, change, or request by a person', async () => {
    const session = startSession(['/a'], ({ number }, { write }) => {
      if (number === 2) write('/a', 'while going')
    })
    await session.rests(1)
    session.write('/a', 'while idle')
    await session.rests(2)
    session.key('r')
    await session.rests(3)
    session.write('/a', 'once more')
    await session.rests(4)
    expect(session.causes).toEqual(['first', 'changed', 'changed', 'requested', 'changed'])
    session.key('q')
    await session.end
  })

  it('ignores keys that were pressed during a run', async () => {
    const session = startSession(['/a'], (_going, { key }) => {
      key('r')
      key('\r')
    })
    await session.rests(1)
    session.write('/a', 'second')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toHaveLength(2)
  })

  it('q stops the run and ends the session', async () => {
    const session = startSession(['/a'], async ({ signal }, { key }) => {
      key('q')
      expect(signal.aborted).toBe(true)
    })
    expect(await session.end).toEqual({ kind: 'quit' })
    expect(session.closed()).toBe(1)
  })

  it('Ctrl-C stops the run, once, and the session continues with the next change', async () => {
    const answers: boolean[] = []
    const session = startSession(['/a'], ({ number, signal }, { interrupt, write }) => {
      if (number > 1) return
      write('/a', 'during the run')
      answers.push(interrupt(), signal.aborted, interrupt())
    })
    await session.rests(1)
    expect(answers).toEqual([true, true, false])
    expect(session.interrupt()).toBe(false)
    expect(session.seen).toHaveLength(1)
    session.write('/a', 'after it')
    await session.rests(2)
    session.key('q')
    await session.end
    expect(session.seen).toEqual([['first'], ['after it']])
  })

  it('ends when it is stopped, both in a run and while it waits', async () => {
    const idle = startSession(['/a'], () => {})
    await idle.rests(1)
    idle.abort()
    expect(await idle.end).toEqual({ kind: 'aborted' })
    expect(idle.closed()).toBe(1)

    const busy = startSession(['/a'], (_going, { abort }) => abort())
    expect(await busy.end).toEqual({ kind: 'aborted' })
    expect(busy.seen).toHaveLength(1)
  })

  it('ends when another run makes no sense', async () => {
    const session = startSession(['/a'], async () => ({ kind: 'refused', exitCode: 2 }))
    expect(await session.end).toEqual({ kind: 'refused', exitCode: 2 })
    expect(session.closed()).toBe(1)
  })

  it('eventually runs for a file that changes all the time', async () => {
    const session = startSession(['/a'], () => {})
    await session.rests(1)
    let writes = 0
    const restless = setInterval(() => session.write('/a', `write ${(writes += 1)}`), 0)
    session.write('/a', 'second')
    while (session.seen.length < 2) await new Promise((resolve) => setImmediate(resolve))
    clearInterval(restless)
    session.key('q')
    await session.end
    expect(session.seen[1]?.[0]).toMatch(/write|second/)
  })
})
