import { factsOf, type ToolName, toolNames } from '../tool/toolbox/names.ts'

/** A tool that models can be given, as `baton list` names it. */
export interface ListedTool {
  readonly name: ToolName
  /** In a few words. */
  readonly summary: string
  /** What its calls need when no rule says otherwise. */
  readonly permission: 'allow' | 'ask'
  /** It is offered only where `write_mode` lets a model change files. */
  readonly writes: boolean
}

/** All of them, in the order in which models get them. */
export function listTools(): readonly ListedTool[] {
  return toolNames.map((name) => {
    const { summary, initial, writes = false } = factsOf(name)
    return { name, summary, permission: initial, writes }
  })
}
