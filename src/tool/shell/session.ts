import { realPath } from '../../base/files.ts'
import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import type { StartedProcess } from '../../base/process.ts'
import type { EndedBox } from '../sandbox/boxed-command.ts'
import type { OutputWindow } from './output-window.ts'

/** What the command lines of one conversation share. When a run is resumed, it is rebuilt from the recorded calls. */
export interface ShellSession {
  /** Where the next line runs: absolute, links resolved. */
  readonly directory: () => string
  readonly move: (directory: string) => void
  readonly jobs: Jobs
}

export function createShellSession(baseDir: string): ShellSession {
  let directory: string | undefined
  return {
    directory: () => (directory ??= realPath(baseDir)),
    move: (next) => void (directory = next),
    jobs: createJobs(),
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
  readonly running: RunningLine
  /** Undefined while it runs. */
  readonly end: () => EndedLine | undefined
}

/** The background command lines of one conversation. */
interface Jobs {
  /** Starts one. @throws BatonError LIMIT if too many are running, and what `start` throws */
  readonly start: (line: string, start: () => Promise<RunningLine>) => Promise<Job>
  /** Registers an ID that a record names as started, by this process or by an earlier one. */
  readonly know: (id: string) => void
  /** `gone`: it ended with the process that started it. */
  readonly find: (id: string) => Job | 'gone' | undefined
  readonly ids: () => readonly string[]
  /** Ends all of them, including those about to start; returns those that were running. */
  readonly close: () => Promise<readonly Job[]>
}

const mostAtOnce = 8

export function createJobs(): Jobs {
  const jobs = new Map<string, Job | 'gone'>()
  const starting = new Set<Promise<RunningLine>>()
  /** The last number assigned, by this process or an earlier one. */
  let last = 0

  function running(): readonly Job[] {
    return [...jobs.values()].filter((job) => job !== 'gone').filter(({ end }) => end() === undefined)
  }

  function add(line: string, started: RunningLine): Job {
    let end: EndedLine | undefined
    void started.ended.then((ended) => (end = ended))
    last += 1
    const job: Job = { id: `bash_${last}`, line, running: started, end: () => end }
    jobs.set(job.id, job)
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
    async close() {
      await Promise.allSettled(starting)
      const left = running()
      await Promise.all(left.map(async ({ running: { stop, ended } }) => [await stop(), await ended]))
      return left
    },
  }
}
