import { endGroup } from '../base/process-group.ts'
import { processOwners } from './owner.ts'
import type { LeftProcess } from './process-list.ts'
import type { RunIndex } from './run-index.ts'

/**
 * Ends the groups of processes that a killed process of the run has left running: those of this machine whose leader is still
 * there, which its number and its start together say. Gives those that were ended.
 */
export async function endLeftProcesses({ processes }: Pick<RunIndex, 'processes'>): Promise<readonly LeftProcess[]> {
  const here = processes().filter(({ writer }) => processOwners.isVisible(writer))
  const ended = await Promise.all(here.map(async (left) => ((await endGroup(left)) ? [left] : [])))
  return ended.flat()
}

/** What was ended, in one line; undefined: nothing. */
export function leftProcessesText(ended: readonly LeftProcess[]): string | undefined {
  if (ended.length === 0) return undefined
  const shown = ended.map(({ pid, place }) => `process ${pid} of ${place}`)
  return `the killed run had left ${whatRan(ended)} running, which ${ended.length === 1 ? 'was' : 'were'} ended: ${shown.join(', ')}`
}

/** A server is recorded at a place of its own (src/wiring/servers.ts): no agent and no task is called `mcp`. */
function whatRan(ended: readonly LeftProcess[]): string {
  const isServer = ended.map(({ place }) => place.startsWith('mcp/'))
  const [one, many] = isServer.every(Boolean)
    ? ['an MCP server', 'MCP servers']
    : ['a command', isServer.some(Boolean) ? 'commands and MCP servers' : 'commands']
  return ended.length === 1 ? one : many
}
