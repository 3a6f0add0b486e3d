import { realPath } from '../../base/files.ts'
import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import { type GroupLeader, leaderOf } from '../../base/process-group.ts'
import type { StartedProcess } from '../../base/process.ts'
import type { EndedBox } from '../sandbox/boxed-command.ts'
import type { OutputWindow } from './output-window.ts'

/** What the command lines of one conversation share. When a run is resumed, it is rebuilt from the recorded calls. */
export interface ShellSession {
  /** Where the next line runs: absolute, links resolved. */
  readonly directory: () => string
  readonly move: (directory: string) => void
  readonly jobs: Jobs
  /** Call it when the conversation has ended. Returns the background commands that this has ended. */
  readonly close: () => Promise<readonly Job[]>
}

export function createShellSession(baseDir: string): ShellSession {
  let directory: string | undefined
  const jobs = createJobs()
  return {
    directory: () => (directory ??= realPath(baseDir)),
    move: (next) => void (directory = next),
    jobs,
    close: jobs.close,
  }
}

/** What a shell that outlives its conversation has at the start of one; it is recorded. Plain JSON. */
export type ShellStart = {
  /** Absolute, links resolved. */
  readonly directory: string
  /** Ids of its background commands, also of those that have ended. */
  readonly jobs: readonly string[]
}

/** The same as that of a chat had it, for a conversation that has its own. */
export function shellFrom(baseDir: string, { directory, jobs }: ShellStart): ShellSession {
  const session = createShellSession(baseDir)
  session.move(directory)
  for (const id of jobs) session.jobs.know(id)
  return session
}

/** The shell of a chat: its folder and its background commands outlive the message that started them. */
export interface ChatShell {
  /** What the next message starts with; undefined: it is as new. */
  readonly start: (baseDir: string) => ShellStart | undefined
  /** The session for a message that starts with this. */
  readonly open: (baseDir: string, start: ShellStart | undefined) => ShellSession
  readonly jobs: Jobs
  /** The folder of the next line, and what it is relative to; undefined: it is as new. */
  readonly moved: () => Moved | undefined
}

/** Absolute folders. */
export interface Moved {
  readonly baseDir: string
  readonly directory: string
}

/**
 * @param before of an earlier process: where its shell was, and the ids of its background commands
 * @param onChange called when the folder changes, and when a command starts or ends
 */
export function createKeptShell(
  before: { readonly moved?: Moved | undefined; readonly jobs?: readonly string[] },
  onChange: () => void,
): ChatShell {
  let { moved } = before
  const jobs = createJobs(onChange)
  for (const id of before.jobs ?? []) jobs.know(id)
  const directoryFor = (baseDir: string): string => (moved?.baseDir === baseDir ? moved.directory : realPath(baseDir))
  return {
    jobs,
    moved: () => moved,
    start(baseDir) {
      const ids = jobs.ids()
      const isNew = ids.length === 0 && moved?.baseDir !== baseDir
      return isNew ? undefined : { directory: directoryFor(baseDir), jobs: ids }
    },
    open(baseDir, start) {
      for (const id of start?.jobs ?? []) jobs.know(id)
      moved = start === undefined ? undefined : { baseDir, directory: start.directory }
      return {
        jobs,
        directory: () => directoryFor(baseDir),
        move(directory) {
          moved = { baseDir, directory }
          onChange()
        },
        close: async () => [],
      }
    },
  }
}

export interface RunningLine extends Pick<StartedProcess, 'pid' | 'stop'> {
  /** Both streams, in the order in which they were written. */
  readonly output: OutputWindow
  /** Never rejects. */
  readonly ended: Promise<EndedLine>
}

export interface EndedLine extends EndedBox {
  /** The working directory of the shell at its end, as it reports it. Untrusted: the line can write anything here. */
  readonly directory: string
}

/** A command line running in the background of a conversation. */
export interface Job {
  readonly id: string
  readonly line: string
  /** Of its processes. */
  readonly leader: GroupLeader
  readonly running: RunningLine
  /** Undefined while it runs. */
  readonly end: () => EndedLine | undefined
}

/** The background command lines of one conversation. */
export interface Jobs {
  /** Starts one. @throws BatonError LIMIT if too many are running, and what `start` throws */
  readonly start: (line: string, start: () => Promise<RunningLine>) => Promise<Job>
  /** Registers an ID that a record names as started, by this process or by an earlier one. */
  readonly know: (id: string) => void
  /** `gone`: it ended with the process that started it. */
  readonly find: (id: string) => Job | 'gone' | undefined
  readonly ids: () => readonly string[]
  /** Those that are running. */
  readonly running: () => readonly Job[]
  /** Ends all of them, including those about to start; returns those that were running. */
  readonly close: () => Promise<readonly Job[]>
}

const mostAtOnce = 8

export function createJobs(onChange: () => void = () => {}): Jobs {
  const jobs = new Map<string, Job | 'gone'>()
  const starting = new Set<Promise<RunningLine>>()
  /** The last number assigned, by this process or an earlier one. */
  let last = 0

  function running(): readonly Job[] {
    return [...jobs.values()].filter((job) => job !== 'gone').filter(({ end }) => end() === undefined)
  }

  function add(line: string, started: RunningLine): Job {
    let end: EndedLine | undefined
    void started.ended.then((ended) => {
      end = ended
      onChange()
    })
    last += 1
    const job: Job = {
      id: `bash_${last}`,
      line,
      leader: leaderOf(started.pid),
      running: started,
      end: () => end,
    }
    jobs.set(job.id, job)
    onChange()
    return job
  }

  return {
    async start(line, start) {
      if (running().length + starting.size >= mostAtOnce) {
        throw new BatonError('LIMIT', modelText`${mostAtOnce} commands are already running in the background`, {
          hint: 'End one of them with kill.',
        })
      }
      const begun = start()
      starting.add(begun)
      try {
        return add(line, await begun)
      } finally {
        starting.delete(begun)
      }
    },
    know(id) {
      if (!jobs.has(id)) jobs.set(id, 'gone')
      last = Math.max(last, Number(/\d+$/.exec(id)?.[0] ?? 0))
    },
    find: (id) => jobs.get(id),
    ids: () => [...jobs.keys()],
    running,
    async close() {
      await Promise.allSettled(starting)
      const left = running()
      await Promise.all(left.map(async ({ running: { stop, ended } }) => [await stop(), await ended]))
      return left
    },
  }
}
