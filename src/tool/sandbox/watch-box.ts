import { readdirSync, readFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import type { SandboxRights } from '../../event/sandbox-rights.ts'

export interface BoxWatch {
  /** Why the box was ended, as the end of a sentence; undefined: it was not. */
  readonly stopped: () => string | undefined
  readonly end: () => void
}

const intervalMs = 100

/**
 * Counts the processes of a box and their memory, and ends the box when they are too many: limits that a process gives
 * itself hold for each process by itself, and not for the administrator. The box is found by a word of its command line
 * among the processes that this one has started. Linux only.
 */
export function watchBox(
  mark: string,
  { memory_mb, processes }: Pick<SandboxRights, 'memory_mb' | 'processes'>,
): BoxWatch {
  let root: number | undefined
  let reason: string | undefined
  const timer = setInterval(() => {
    root ??= descendantsOf(process.pid).find((pid) => textOf(pid, 'cmdline').includes(`\0${mark}\0`))
    if (root === undefined || reason !== undefined) return
    const inside = descendantsOf(root)
    reason = tooMany(inside, processes) ?? tooMuch(inside, memory_mb)
    // the whole box ends with its first process
    if (reason !== undefined) kill(root)
  }, intervalMs)
  timer.unref()
  return { stopped: () => reason, end: () => clearInterval(timer) }
}

/** The first one is that of the box itself. */
function tooMany({ length }: readonly number[], most: number): string | undefined {
  return length - 1 > most ? `it had more than ${most} processes ([sandbox] processes)` : undefined
}

function tooMuch(pids: readonly number[], most: number): string | undefined {
  const kilobytes = pids.reduce((sum, pid) => sum + ownMemory(pid), 0)
  return kilobytes > most * 1024 ? `it used more than ${most} MiB of memory ([sandbox] memory_mb)` : undefined
}

/** What a process does not share with the files it has mapped, in KiB. */
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
    // it has ended by itself
  }
}
