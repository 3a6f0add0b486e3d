import { agentsIn, readTranscript } from '../../history/agent-transcript.ts'
import { messageText } from '../../history/recorded.ts'
import type { RecordSource } from '../../journal/source.ts'
import { harmless } from '../../base/terminal-text.ts'
import { usageError } from '../command.ts'
import { jsonLine } from '../io.ts'
import type { RunsContext } from './runs.ts'

/**
 * `baton runs show RUN --agent ID`: the whole conversation of an agent that got work from a model; with `--json` one
 * message per line (docs/task.md). A unique prefix of the id is enough.
 */
export async function showAgent(
  id: string,
  { run, source, isJson }: { readonly run: string; readonly source: RecordSource; readonly isJson: boolean },
  { io, paint }: Pick<RunsContext, 'io' | 'paint'>,
): Promise<void> {
  const agents = await agentsIn(source)
  const [found, ...others] = agents.filter((agent) => agent.id.startsWith(id))
  if (found === undefined || others.length > 0) {
    const known = agents.map((agent) => `${agent.id} (${agent.name})`).join(', ')
    throw usageError(
      `--agent ${id}: ${found === undefined ? 'no model of this run has given work to such an agent' : 'several agents match'}`,
      known === '' ? 'baton runs show RUN shows what the run has done.' : `Agents of this run: ${known}.`,
    )
  }
  for (const line of await readTranscript(source, found, run)) {
    if (isJson) io.out(jsonLine(line))
    else io.out(`${paint('dim', line.ts)}\n${harmless(messageText(line.message))}\n\n`)
  }
}
