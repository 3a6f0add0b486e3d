import { readFileSync } from 'node:fs'
import { platform } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasSystemCode } from './error.ts'

interface ProcessStatus {
  /** A letter: `Z` for a process that has exited and waits for its parent. */
  readonly state: string
  readonly startTicks: string
}

/** The status of a process on Linux; undefined if it does not exist or on other systems. */
export function processStatus(pid: number): ProcessStatus | undefined {
  const text = readStatus(pid)
  if (text === undefined) return undefined
  // the program's name, in parentheses, may contain spaces and parentheses itself
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks }
}

function readStatus(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
}

/** The second in which a process started according to `ps`, exact to a second or two; undefined if unknown. */
export async function startSecond(pid: number): Promise<number | undefined> {
  try {
    // rarely needed, and slow to load
    const { execFileSync } = await import('node:child_process')
    const answer = execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { LC_ALL: 'C', TZ: 'UTC' },
      encoding: 'utf8',
      timeout: 2000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const seconds = Date.parse(`${answer.trim()} UTC`) / 1000
    return Number.isNaN(seconds) ? undefined : seconds
  } catch {
    return undefined
  }
}

/** Whether a process has this id, whoever it belongs to. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasSystemCode(error, 'EPERM')
  }
}

/** The leader of a process group, identified so that it is not confused with a later process that has the same id. */
export interface GroupLeader {
  readonly pid: number
  /** `ticks:<n>` since boot (Linux), or `epoch:<seconds>`. */
  readonly start: string
}

/** The leader of a group that was started just now. */
export function leaderOf(pid: number): GroupLeader {
  const status = processStatus(pid)
  return { pid, start: status === undefined ? `epoch:${Math.round(Date.now() / 1000)}` : `ticks:${status.startTicks}` }
}

/** Stops a group if its leader still exists. False: it does not, and nothing was done. */
export async function endGroup({ pid, start }: GroupLeader): Promise<boolean> {
  return (await isThere(pid, start)) && stopGroup(pid)
}

async function isThere(pid: number, start: string): Promise<boolean> {
  const status = processStatus(pid)
  if (status !== undefined) return start === `ticks:${status.startTicks}`
  const second = start.startsWith('epoch:') ? await startSecond(pid) : undefined
  return second !== undefined && Math.abs(second - Number(start.slice('epoch:'.length))) <= 2
}

/** Between TERM and KILL. */
const graceMs = 5_000
const pollMs = 20

/**
 * Sends a signal to all processes of a group, by the id of its leader; 0 only checks. False if none is left. On
 * Windows, which has no groups, only to the process itself.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(platform() === 'win32' ? leader : -leader, signal)
    return true
  } catch {
    return false
  }
}

/**
 * Stops a group: TERM, and KILL after 5 s. Resolves when no process is left or KILL was sent; false: the group was
 * empty. `inner`: the leader of another group, which gets TERM instead and with which this one ends.
 */
export async function stopGroup(leader: number, inner?: number): Promise<boolean> {
  if (!signalGroup(leader, 0)) return false
  if (inner === undefined || !signalGroup(inner, 'SIGTERM')) signalGroup(leader, 'SIGTERM')
  for (let waited = 0; waited < graceMs; waited += pollMs) {
    await sleep(pollMs)
    if (!signalGroup(leader, 0)) return true
  }
  signalGroup(leader, 'SIGKILL')
  return true
}
