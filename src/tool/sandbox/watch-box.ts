import { readdirSync, readFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { processStatus } from '../../base/process-group.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'

export interface BoxWatch {
  /** Call with the first process of the sandbox, by its PID outside: the sandbox ends with it. */
  readonly begin: (pid: number) => void
  /** That process, while it runs. */
  readonly first: () => number | undefined
  /** Why the sandbox was ended, as the end of a sentence; undefined if it was not. */
  readonly stopped: () => string | undefined
  /** Ends the sandbox. Resolves when none of its processes runs any more. */
  readonly end: () => Promise<void>
}

const intervalMs = 100
const pollMs = 2
/** Processes that cannot be killed because they wait for a disk do nothing further either. */
const longestEndMs = 10_000

/**
 * Counts the processes of a sandbox and their memory, and ends the sandbox when a limit is exceeded: limits that a
 * process sets for itself apply to each process separately, and not to root. Linux only.
 */
export function watchBox({ memory_mb, processes }: Pick<SandboxRights, 'memory_mb' | 'processes'>): BoxWatch {
  let first: number | undefined
  let startTicks: string | undefined
  let reason: string | undefined
  let timer: NodeJS.Timeout | undefined

  /** The PID may have been reused. The kernel releases it only after all other processes of its sandbox have ended. */
  function runs(pid: number): boolean {
    const status = processStatus(pid)
    return status !== undefined && status.startTicks === startTicks && !'ZX'.includes(status.state)
  }

  function look(pid: number): void {
    if (reason !== undefined || !runs(pid)) return
    const inside = descendantsOf(pid)
    reason = tooMany(inside, processes) ?? tooMuch([pid, ...inside], memory_mb)
    if (reason !== undefined) kill(pid)
  }

  return {
    begin(pid) {
      first = pid
      startTicks = processStatus(pid)?.startTicks
      timer = setInterval(() => look(pid), intervalMs)
      timer.unref()
    },
    first: () => (first !== undefined && runs(first) ? first : undefined),
    stopped: () => reason,
    async end() {
      clearInterval(timer)
      if (first === undefined) return
      if (runs(first)) kill(first)
      for (let waited = 0; waited < longestEndMs && runs(first); waited += pollMs) await sleep(pollMs)
    },
  }
}

function tooMany({ length }: readonly number[], most: number): string | undefined {
  return length > most ? `it had more than ${most} processes ([sandbox] processes)` : undefined
}

function tooMuch(pids: readonly number[], most: number): string | undefined {
  const kilobytes = pids.reduce((sum, pid) => sum + ownMemory(pid), 0)
  return kilobytes > most * 1024 ? `it used more than ${most} MiB of memory ([sandbox] memory_mb)` : undefined
}

/** The memory of a process without file mappings, in KiB. */
function ownMemory(pid: number): number {
  const status = textOf(pid, 'status')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  return field('RssAnon') + field('RssShmem')
}

/** Outermost first. */
function descendantsOf(pid: number): readonly number[] {
  const found: number[] = []
  for (let level = childrenOf(pid); level.length > 0; level = level.flatMap(childrenOf)) found.push(...level)
  return found
}

function childrenOf(pid: number): readonly number[] {
  return threadsOf(pid).flatMap((thread) =>
    textOf(pid, `task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty for a process that has ended. */
function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has already ended
  }
}
