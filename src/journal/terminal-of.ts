import { readlinkSync } from 'node:fs'
import { type Owner, processOwners } from './owner.ts'

/** The terminal that a process reads from; undefined if it does not read from one, or that cannot be seen from here. */
export function terminalOf(owner: Owner): string | undefined {
  if (!processOwners.isVisible(owner)) return undefined
  try {
    const input = readlinkSync(`/proc/${owner.pid}/fd/0`)
    return /^\/dev\/(?:pts\/\d+|tty\w*|console)$/.test(input) ? input : undefined
  } catch {
    return undefined
  }
}
