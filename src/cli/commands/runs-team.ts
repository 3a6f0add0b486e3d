import { harmlessName } from '../../base/terminal-text.ts'
import { readTree } from '../../history/run-tree.ts'
import { exchangesJson, timelineJson } from '../../history/team-json.ts'
import { readTeams, type Team } from '../../history/team.ts'
import type { RecordSource } from '../../journal/source.ts'
import { sequenceLines } from '../../render/sequence.ts'
import { ganttText, sequenceText } from '../../render/team-mermaid.ts'
import { timelineLines } from '../../render/timeline.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { jsonLine } from '../io.ts'
import type { RunsContext } from './runs.ts'

interface Shown {
  readonly run: string
  readonly source: RecordSource
  /** The maximum number of members or exchanges shown for one team. */
  readonly lines: number
}

/**
 * `baton runs show RUN --timeline` and `--messages`: when each agent of a team worked, and the messages between them;
 * as text, as a Mermaid diagram, or with `--json` for programs.
 * @throws BatonError USAGE if no model of the run has started an agent
 */
export async function showTeams(
  { run, source, lines }: Shown,
  flags: Flags<'runs'>,
  { io, paint, width }: RunsContext,
): Promise<void> {
  const tree = await readTree(source, { most: Number.POSITIVE_INFINITY, keepsAnswers: true })
  const all = readTeams(tree, source)
  if (all.teams.length === 0) {
    throw usageError(
      `run ${run} has no team: no model in it has started an agent`,
      `--timeline and --messages show agents that a model starts with spawn_agent or task. See baton runs show ${run}.`,
    )
  }
  if (flags.json && flags.timeline) return io.out(jsonLine(timelineJson(run, all)))
  if (flags.json) {
    for (const line of all.teams.flatMap(exchangesJson)) io.out(jsonLine(line))
    return
  }
  if (flags.format === 'mermaid') return io.out(flags.timeline ? ganttText(all, run) : sequenceText(all))
  for (const [index, team] of all.teams.entries()) {
    const options = { paint, width, lines }
    const title = all.teams.length === 1 ? [] : [...(index === 0 ? [] : ['']), paint('bold', titleOf(team))]
    const show = flags.timeline ? timelineLines : sequenceLines
    io.out([...title, ...show(team, all.pauses, options)].map((line) => `${line}\n`).join(''))
  }
}

function titleOf({ members: [leader] }: Team): string {
  return harmlessName(leader?.place ?? '')
}
