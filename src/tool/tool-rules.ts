import { pathText } from '../base/data-text.ts'
import { type Action, toolEffects, type ToolRule, type Verdict } from '../event/permission.ts'
import { compilePattern, type SubjectTest } from './rule-pattern.ts'
import { toolPattern } from './tool-filter.ts'

export type ToolAction = Extract<Action, { readonly kind: 'tool' }>

/** What several lists of rules say of a call: the strictest. A list without a rule that matches says nothing. */
export function toolVerdict(lists: readonly (readonly ToolRule[])[], action: ToolAction, workspace: string): Verdict {
  const deciding = lists.flatMap((rules) => decidingRule(rules, action, workspace) ?? [])
  const strictest = deciding.toSorted((left, right) => strictness(right) - strictness(left))[0]
  if (strictest === undefined) return { kind: 'ask' }
  if (strictest.effect !== 'deny') return { kind: strictest.effect }
  return { kind: 'deny', reason: `${ruleText(strictest)} (${strictest.origin})`, code: 'UNTRUSTED' }
}

/** `[permission] bash."rm *" = "deny"`: a rule as people write it. */
export function ruleText({ tool, pattern, effect }: Pick<ToolRule, 'tool' | 'pattern' | 'effect'>): string {
  return `[permission] ${pathText(pattern === undefined ? [tool] : [tool, pattern])} = "${effect}"`
}

function strictness({ effect }: Pick<ToolRule, 'effect'>): number {
  return toolEffects.indexOf(effect)
}

/**
 * The rule that decides about a call: the last that matches. Of the rules that came with one file of a folder the last
 * that matches counts where it is stricter than what the rules before them say. Undefined: none matches.
 */
export function decidingRule(
  rules: readonly ToolRule[],
  action: Pick<ToolAction, 'tool' | 'subject'>,
  workspace: string,
): ToolRule | undefined {
  let deciding: ToolRule | undefined
  // what the rules of one folder are held to
  let before: ToolRule | undefined
  let source: string | undefined
  for (const { rule, matches } of compiled(rules, workspace)) {
    if (rule.tightens !== source) before = deciding
    source = rule.tightens
    if (!matches(action)) continue
    const isLooser = source !== undefined && before !== undefined && strictness(rule) <= strictness(before)
    deciding = isLooser ? before : rule
  }
  return deciding
}

interface CompiledRule {
  readonly rule: ToolRule
  readonly matches: (action: Pick<ToolAction, 'tool' | 'subject'>) => boolean
}

/** Rights are narrowed for each call, and their rules stay: patterns are compiled once for a list. */
const lists = new WeakMap<
  readonly ToolRule[],
  { readonly workspace: string; readonly rules: readonly CompiledRule[] }
>()

function compiled(rules: readonly ToolRule[], workspace: string): readonly CompiledRule[] {
  const known = lists.get(rules)
  if (known?.workspace === workspace) return known.rules
  const made = rules.map((rule) => compileRule(rule, workspace))
  lists.set(rules, { workspace, rules: made })
  return made
}

function compileRule(rule: ToolRule, workspace: string): CompiledRule {
  const { tool, pattern, effect } = rule
  const test: SubjectTest | undefined = pattern === undefined ? undefined : compilePattern(pattern, effect, workspace)
  const isTool = toolPattern(tool)
  return {
    rule,
    matches: ({ tool: called, subject }) =>
      isTool(called) && (test === undefined || (subject !== undefined && test(subject))),
  }
}
