import { endGroup } from '../base/process-group.ts'
import { processOwners } from './owner.ts'
import type { LeftProcess } from './process-list.ts'
import type { RunIndex } from './run-index.ts'

/**
 * Terminates the process groups that a killed process of the run left running: those on this machine whose leader still
 * exists, identified by its pid and start time. Returns those that were terminated.
 */
export async function endLeftProcesses({ processes }: Pick<RunIndex, 'processes'>): Promise<readonly LeftProcess[]> {
  const here = processes().filter(({ writer }) => processOwners.isVisible(writer))
  const ended = await Promise.all(here.map(async (left) => ((await endGroup(left)) ? [left] : [])))
  return ended.flat()
}

/** One line about the terminated processes; undefined: none. */
export function leftProcessesText(ended: readonly LeftProcess[]): string | undefined {
  if (ended.length === 0) return undefined
  const shown = ended.map(({ pid, place }) => `process ${pid} of ${place}`)
  return `the killed run left ${whatRan(ended)} running, which ${ended.length === 1 ? 'was' : 'were'} terminated: ${shown.join(', ')}`
}

/** A server is recorded at its own place (src/wiring/servers.ts): no agent and no task is called `mcp`. */
function whatRan(ended: readonly LeftProcess[]): string {
  const isServer = ended.map(({ place }) => place.startsWith('mcp/'))
  const [one, many] = isServer.every(Boolean)
    ? ['an MCP server', 'MCP servers']
    : ['a command', isServer.some(Boolean) ? 'commands and MCP servers' : 'commands']
  return ended.length === 1 ? one : many
}
