import type { ToolRule } from '../event/permission.ts'
import { fileRules } from './toolbox/default-rules.ts'
import { factsOf, itemTools, teamTools, toolNames } from './toolbox/names.ts'

/** What holds when nobody says otherwise: of tools that Baton does not know, each call is asked about. */
const defaultRules: readonly ToolRule[] = [
  { tool: '*', effect: 'ask', origin: 'default' },
  ...toolNames.map((tool): ToolRule => ({ tool, effect: factsOf(tool).initial, origin: 'default' })),
  ...Object.keys({ ...teamTools, ...itemTools }).map((tool): ToolRule => ({
    tool,
    effect: 'allow',
    origin: 'default',
  })),
  ...fileRules,
]

/** The rules of one run, weakest first: what holds when nobody says otherwise, and behind it what settings say. */
export function toolRules(written: readonly ToolRule[] = []): readonly ToolRule[] {
  return [...defaultRules, ...written]
}

interface RuleSettings {
  readonly permission?: readonly ToolRule[] | undefined
  readonly auto_approve_plan_mode?: boolean | undefined
}

/** What settings say of calls of tools, weakest first: `[permission]`, and before it what other keys come to (R19). */
export function writtenRules({ permission = [], auto_approve_plan_mode: approves }: RuleSettings): readonly ToolRule[] {
  if (approves !== true) return permission
  return [{ tool: 'exit_plan', effect: 'allow', origin: 'auto_approve_plan_mode' }, ...permission]
}
