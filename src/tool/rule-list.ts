import type { ToolRule } from '../event/permission.ts'
import { isWriter, ownToolNames, rowOf, subjectKind } from './toolbox/rows.ts'
import { keyPatterns } from './protected/key-places.ts'

const everything = ['/', '/**']
const workspace = ['.', '**']

const withPath = ownToolNames.filter((name) => subjectKind(name) === 'path')

function ruled(tool: string, patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] {
  return patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
}

/**
 * What tools whose calls name a path cannot access unless a rule allows it: places that hold keys, and everything
 * outside the workspace, for which tools that change files have limits of their own. The last matching rule applies.
 */
const fileRules: readonly ToolRule[] = [
  ...withPath
    .filter((tool) => !isWriter(tool))
    .flatMap((tool) => [...ruled(tool, everything, 'deny'), ...ruled(tool, workspace, 'allow')]),
  ...withPath.flatMap((tool) =>
    keyPatterns.map((pattern): ToolRule => ({ tool, pattern, effect: 'deny', origin: 'default', isKeyPlace: true })),
  ),
]

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
 * The rules that settings define for tool calls, weakest first: those implied by other keys, then `[permission]`.
 */
export function writtenRules({ permission = [], auto_approve_plan_mode: approves }: RuleSettings): readonly ToolRule[] {
  if (approves !== true) return permission
  return [{ tool: 'exit_plan', effect: 'allow', origin: 'auto_approve_plan_mode' }, ...permission]
}
