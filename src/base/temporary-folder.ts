import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from './hash.ts'
import { processStatus } from './process-group.ts'

export interface TemporaryFolder {
  /** Absolute. */
  readonly path: string
  readonly remove: () => void
}

/**
 * Where the name of a folder does not tell whether its process is alive, older ones were left by one that was killed:
 * nothing uses such a folder for that long.
 */
const leftAfterMs = 86_400_000

/**
 * A private folder below the system's temporary folder; its name starts with `prefix`. It is also removed when the
 * process exits. Folders that killed processes of this machine left under this prefix are removed too.
 */
export function makeTemporaryFolder(prefix: string): TemporaryFolder {
  removeStaleFolders(prefix)
  const path = mkdtempSync(join(tmpdir(), `${prefix}${ownName()}`))
  // a second Ctrl-C exits immediately
  if (open.size === 0) process.on('exit', removeOpen)
  open.add(path)
  return {
    path,
    remove() {
      rmSync(path, { recursive: true, force: true })
      open.delete(path)
      if (open.size === 0) process.off('exit', removeOpen)
    },
  }
}

const open = new Set<string>()

function removeOpen(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true })
}

/** Names this process so that later ones on this machine know when it is gone; empty where that cannot be known. */
function ownName(): string {
  const [status, machine] = [processStatus(process.pid), machineName()]
  return status === undefined || machine === undefined ? '' : `${machine}.${process.pid}.${status.startTicks}-`
}

/** Names what processes are numbered in: a container, since the start of its machine. */
function machineName(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
    return sha256(`${boot} ${readlinkSync('/proc/self/ns/pid')}`).slice(0, 8)
  } catch {
    return undefined
  }
}

/** Whether the process that a name is of is gone; undefined if that is not known. */
function isOfGone(name: string): boolean | undefined {
  const [, machine, pid, startTicks] = /-([0-9a-f]{8})\.(\d+)\.(\d+)-[^-]*$/.exec(name) ?? []
  if (machine === undefined || machine !== machineName()) return undefined
  const status = processStatus(Number(pid))
  // a zombie only waits for its parent
  return status?.startTicks !== startTicks || status?.state === 'Z'
}

/** Folders (absolute) that killed processes of this machine left; each is removed by the next process that makes one of its kind. */
export function staleTemporaryFolders(): readonly string[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith('baton-') && isOfGone(name) === true)
  return names.map((name) => join(tmpdir(), name))
}

function removeStaleFolders(prefix: string): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const path = join(tmpdir(), name)
    try {
      const isLeft = isOfGone(name) ?? Date.now() - statSync(path).mtimeMs > leftAfterMs
      if (isLeft) rmSync(path, { recursive: true, force: true })
    } catch {
      // it belongs to another user
    }
  }
}
