import { namesIn } from '../../base/entries.ts'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError, messageOf } from '../../base/error.ts'
import { randomName } from '../../base/random-name.ts'

/** A group of processes whose number the kernel limits. */
export interface TaskGroup {
  /** Moves a process into the group, with everything it starts later. @throws BatonError SANDBOX */
  readonly enter: (pid: number) => void
  /** Call when its processes have ended. */
  readonly close: () => Promise<void>
}

/**
 * A group limited to this many tasks (threads count as well), for root, which is not subject to the limits a process
 * sets for itself. Undefined if this process may not create one: ordinary users, and most containers.
 */
export function openTaskGroup(most: number): TaskGroup | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const parent of parents()) {
    removeStaleGroups(parent)
    const folder = join(parent, `${prefix}${process.pid}-${randomName()}`)
    try {
      mkdirSync(folder)
    } catch {
      continue
    }
    try {
      writeFileSync(join(folder, 'pids.max'), String(most))
      return { enter: (pid) => enter(folder, pid), close: () => remove(folder) }
    } catch {
      isRemoved(folder)
    }
  }
  return undefined
}

function enter(folder: string, pid: number): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), String(pid))
  } catch (error) {
    const message = `the number of processes cannot be limited: ${messageOf(error)}`
    throw new BatonError('SANDBOX', message, { cause: error })
  }
}

const prefix = 'baton-'

/**
 * Where a group can be created, for cgroup v2 and v1: below the cgroup of this process, whose own limits stay in force.
 */
function parents(): readonly string[] {
  return textOf('/proc/self/cgroup')
    .split('\n')
    .flatMap((line) => {
      const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      if (controllers === '' && path !== '') return [join('/sys/fs/cgroup', path)]
      return controllers.split(',').includes('pids') ? [join('/sys/fs/cgroup/pids', path)] : []
    })
}

/** Removes the groups of processes that were killed. */
function removeStaleGroups(parent: string): void {
  for (const name of namesIn(parent)) {
    const [, owner] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? []
    if (owner !== undefined && !isAlive(Number(owner))) isRemoved(join(parent, name))
  }
}

function isAlive(pid: number): boolean {
  return textOf(`/proc/${pid}/stat`) !== ''
}

/** The kernel takes a moment to release the last processes. */
async function remove(folder: string): Promise<void> {
  for (let tries = 0; tries < 100 && !isRemoved(folder); tries += 1) await sleep(20)
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
