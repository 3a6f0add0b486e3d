import { type OwnToolName, rowOf, teamToolNames, toolNames } from '../tool/toolbox/rows.ts'

/** A tool that models can be given, as shown by `baton list`. */
export interface ListedTool {
  readonly name: string
  /** In a few words. */
  readonly summary: string
  /** The default permission of its calls. */
  readonly permission: 'allow' | 'ask'
  /** It is only offered if `write_mode` lets a model change files. */
  readonly writes: boolean
  /** A model gets it because of this table, not because `tools` names it. */
  readonly with?: 'collab' | 'delegate'
}

/** The tools that `tools` names, in the order in which models get them. */
export function listTools(): readonly ListedTool[] {
  return toolNames.map(listed)
}

/** Tools of teams: rules and `disallowed_tools` name them. */
export function listTeamTools(): readonly ListedTool[] {
  const { collab, delegate } = teamToolNames
  return [
    ...collab.map((name) => ({ ...listed(name), with: 'collab' as const })),
    ...delegate.map((name) => ({ ...listed(name), with: 'delegate' as const })),
  ]
}

function listed(name: OwnToolName): ListedTool {
  const { summary, initial, touches } = rowOf(name)
  return { name, summary, permission: initial, writes: touches === 'writes' }
}
