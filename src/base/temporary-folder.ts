import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  /** Absolute. */
  readonly path: string
  readonly remove: () => void
}

/** Older folders were left by a process that was killed: nothing uses such a folder for that long. */
const leftAfterMs = 86_400_000

/**
 * A private folder below the system's temporary folder; its name starts with `prefix`. It is also removed when the
 * process exits. Folders that killed processes left under this prefix more than a day ago are removed too.
 */
export function makeTemporaryFolder(prefix: string): TemporaryFolder {
  if (!cleaned.has(prefix)) removeLeft(prefix)
  cleaned.add(prefix)
  const path = mkdtempSync(join(tmpdir(), prefix))
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
/** Prefixes whose leftover folders this process has already looked for. */
const cleaned = new Set<string>()

function removeOpen(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true })
}

function removeLeft(prefix: string): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const path = join(tmpdir(), name)
    try {
      if (Date.now() - statSync(path).mtimeMs > leftAfterMs) rmSync(path, { recursive: true, force: true })
    } catch {
      // it belongs to another user
    }
  }
}
