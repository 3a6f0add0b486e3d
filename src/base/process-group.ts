import { platform } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Between TERM and KILL. */
const graceMs = 5_000
const pollMs = 20

/**
 * Sends a signal to all processes of a group, by the id of its leader; 0 only asks. False when nobody is left. Windows
 * has no groups: there it is the process alone.
 */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(platform() === 'win32' ? leader : -leader, signal)
    return true
  } catch {
    return false
  }
}

/** Ends a group: TERM, and KILL to whoever is left after 5 s. Resolves when nobody is left or KILL was sent. */
export async function stopGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return
  for (let waited = 0; waited < graceMs; waited += pollMs) {
    await sleep(pollMs)
    if (!signalGroup(leader, 0)) return
  }
  signalGroup(leader, 'SIGKILL')
}

/** Kills the group when this process exits before the returned function is called. */
export function killAtExit(leader: number): () => void {
  const kill = (): void => void signalGroup(leader, 'SIGKILL')
  // many commands at once are meant: each makes room for its own listener, so that Node sees no leak
  process.setMaxListeners(process.getMaxListeners() + 1)
  process.on('exit', kill)
  return () => {
    process.off('exit', kill)
    process.setMaxListeners(process.getMaxListeners() - 1)
  }
}
