import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  /** Absolute. */
  readonly path: string
  readonly remove: () => void
}

/** What is older was left by a process that was killed: nothing that uses such a folder takes so long. */
const leftAfterMs = 86_400_000

/**
 * A folder that nobody else may enter, below the temporary folder of the system, its name begun by `prefix`. It is also
 * removed when the process exits, and what killed processes have left under this prefix after a day.
 */
export function makeTemporaryFolder(prefix: string): TemporaryFolder {
  if (!cleaned.has(prefix)) removeLeft(prefix)
  cleaned.add(prefix)
  const path = mkdtempSync(join(tmpdir(), prefix))
  // a second Ctrl-C ends the process at once
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
/** Prefixes whose left folders this process has looked for. */
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
      // it is another user's
    }
  }
}
