import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { isRunning, processStatus, startSecond } from '../base/process-group.ts'

/**
 * The process that writes a journal file. `start` is `ticks:<n>` since boot (Linux, meaningful with `boot`) or
 * `epoch:<seconds>`; together with `pid` it is never reused.
 */
export interface Owner {
  readonly pid: number
  readonly start: string
  readonly boot: string
  readonly host: string
  /** The pid namespace (Linux): containers have their own. */
  readonly ns?: string
}

export interface OwnerPort {
  self(): Owner
  /** Whether this process could see it running: not on another machine or in another container. */
  isVisible(owner: Owner): boolean
  /** Whether this exact process, which must be visible, is still running. */
  isAlive(owner: Owner): Promise<boolean>
}

/** Processes of this machine, from /proc if it exists, otherwise from `ps`. */
export const processOwners: OwnerPort = {
  self() {
    const { pid } = process
    const host = hostname()
    const status = processStatus(pid)
    const boot = bootId()
    if (status === undefined || boot === undefined) return { pid, start: ownStartSecond(), boot: '', host }
    const ns = processNamespace()
    return { pid, start: `ticks:${status.startTicks}`, boot, host, ...(ns !== undefined && { ns }) }
  },
  isVisible: (owner) => sharesProcesses(owner, { host: hostname(), boot: bootId() ?? '', ns: processNamespace() }),
  async isAlive(owner) {
    if (owner.start.startsWith('ticks:')) return isSameProcess(owner)
    return isRunning(owner.pid) && (await startedThen(owner))
  },
}

type Machine = Pick<Owner, 'boot' | 'host'> & { readonly ns?: string | undefined }

/** Whether two machines or containers share their processes, that is, are the same. */
export function sharesProcesses({ boot, host, ns }: Machine, here: Machine): boolean {
  if (boot === '') return host === here.host
  return boot === here.boot && (ns === undefined || ns === here.ns)
}

function bootId(): string | undefined {
  return readSystemFile('/proc/sys/kernel/random/boot_id')?.trim()
}

function processNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

function readSystemFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function isSameProcess({ pid, start, boot }: Owner): boolean {
  if (bootId() !== boot) return false
  const status = processStatus(pid)
  // a zombie is already dead and only waits for its parent
  return status !== undefined && !'ZX'.includes(status.state) && start === `ticks:${status.startTicks}`
}

function ownStartSecond(): string {
  return `epoch:${Math.round(Date.now() / 1000 - process.uptime())}`
}

/** If the system gives no answer, the owner counts as alive. */
async function startedThen({ pid, start }: Owner): Promise<boolean> {
  const second = await startSecond(pid)
  return second === undefined || Math.abs(second - Number(start.slice('epoch:'.length))) <= 5
}
