import type { ToolRule } from '../event/permission.ts'
import { fileRules } from './toolbox/default-rules.ts'
import { ownToolNames, rowOf } from './toolbox/rows.ts'

/** The built-in defaults: calls of tools that Baton does not know need an approval. */
const defaultRules: readonly ToolRule[] = [
  { tool: '*', effect: 'ask', origin: 'default' },
  ...ownToolNames.map((tool): ToolRule => ({ tool, effect: rowOf(tool).initial, origin: 'default' })),
  ...fileRules,
]

/** The rules of one run, weakest first: the built-in defaults, followed by those from settings. */
export function toolRules(written: readonly ToolRule[] = []): readonly ToolRule[] {
  return [...defaultRules, ...written]
}

interface RuleSettings {
  readonly permission?: readonly ToolRule[] | undefined
  readonly auto_approve_plan_mode?: boolean | undefined
}

/**
 * The rules that settings define for tool calls, weakest first: those implied by other keys (R19), then `[permission]`.
 */
export function writtenRules({ permission = [], auto_approve_plan_mode: approves }: RuleSettings): readonly ToolRule[] {
  if (approves !== true) return permission
  return [{ tool: 'exit_plan', effect: 'allow', origin: 'auto_approve_plan_mode' }, ...permission]
}
