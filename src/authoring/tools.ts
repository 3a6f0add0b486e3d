import { factsOf, itemTools, teamTools, toolNames } from '../tool/toolbox/names.ts'

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
  return toolNames.map((name) => {
    const { summary, initial, writes = false } = factsOf(name)
    return { name, summary, permission: initial, writes }
  })
}

/** Tools of teams: rules and `disallowed_tools` name them. */
export function listTeamTools(): readonly ListedTool[] {
  const listed = (tools: { readonly [name: string]: string }, table: 'collab' | 'delegate'): readonly ListedTool[] =>
    Object.entries(tools).map(([name, summary]) => ({ name, summary, permission: 'allow', writes: false, with: table }))
  return [...listed(teamTools, 'collab'), ...listed(itemTools, 'delegate')]
}
