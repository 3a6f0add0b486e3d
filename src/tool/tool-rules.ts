import { pathText } from '../base/data-text.ts'
import type { RunScope } from '../event/context.ts'
import {
  type Action,
  type ReadCommand,
  toolEffects,
  type ToolRule,
  type ToolSubject,
  type Verdict,
} from '../event/permission.ts'
import { compilePattern, type PatternMatch, type SubjectPiece } from './rule-pattern.ts'
import { ruledTools, toolPattern } from './tool-filter.ts'

export type ToolAction = Extract<Action, { readonly kind: 'tool' }>

/** What several lists of rules decide about a call: the strictest result. A list without a matching rule is ignored. */
export function toolVerdict(lists: readonly (readonly ToolRule[])[], action: ToolAction, workspace: string): Verdict {
  const deciding = lists.flatMap((rules) => decidingRule(rules, action, workspace) ?? [])
  const strictest = strictestOf(deciding)
  if (strictest === undefined) return { kind: 'ask' }
  if (strictest.effect !== 'deny') return { kind: strictest.effect }
  return { kind: 'deny', reason: `${ruleText(strictest)} (${strictest.origin})`, code: 'UNTRUSTED' }
}

/** Whose rules apply, and the base of relative paths. */
interface RuleScope {
  readonly rights: Pick<RunScope['rights'], 'rules'>
  readonly folders: Pick<RunScope['folders'], 'workspace'>
}

/** What the rules of a scope say about every call of a tool, whatever its subject. */
export function verdictOnAny(tool: string, { rights, folders }: RuleScope): Verdict {
  return toolVerdict(rights.rules, { kind: 'tool', tool, input: null, subject: { kind: 'any' } }, folders.workspace)
}

/** `[permission] bash."rm *" = "deny"`: a rule as users write it. */
export function ruleText({ tool, pattern, effect }: Pick<ToolRule, 'tool' | 'pattern' | 'effect'>): string {
  return `[permission] ${pathText(pattern === undefined ? [tool] : [tool, pattern])} = "${effect}"`
}

function strictness({ effect }: Pick<ToolRule, 'effect'>): number {
  return toolEffects.indexOf(effect)
}

/** `isUnsure`: a rule that denies, but asks about this call, because it is not known whether it matches. */
export interface DecidingRule extends ToolRule {
  readonly isUnsure?: true
}

type Asked = Pick<ToolAction, 'tool' | 'subject'>

/**
 * The rule that decides about a call: the last one that matches. Among the rules from one folder's file, the last that
 * matches counts only if it is stricter than what the preceding rules say. Each command of a command line is judged
 * separately, and the strictest rule decides. Undefined if none matches.
 */
export function decidingRule(rules: readonly ToolRule[], action: Asked, workspace: string): DecidingRule | undefined {
  const list = compiled(rules, workspace)
  return strictestOf(piecesOf(action.subject).flatMap((piece) => lastOf(list, action.tool, piece) ?? []))
}

function strictestOf(rules: readonly DecidingRule[]): DecidingRule | undefined {
  return rules.toSorted((left, right) => strictness(right) - strictness(left))[0]
}

/** The parts of a call's subject that are judged separately. */
function piecesOf(subject: ToolSubject | undefined): readonly (SubjectPiece | undefined)[] {
  if (subject?.kind !== 'command') return [subject]
  const { line, commands, doubt, unread } = subject
  const isDoubtful = doubt !== undefined
  return [
    ...(commands.length === 0 ? [nothing] : commands).map(
      (command) => ({ kind: 'command', command, isDoubtful }) as const,
    ),
    ...(unread === true ? [{ kind: 'unread', line } as const] : []),
  ]
}

const nothing: ReadCommand = { texts: [{ text: '' }] }

function lastOf(
  rules: readonly CompiledRule[],
  tool: string,
  piece: SubjectPiece | undefined,
): DecidingRule | undefined {
  let deciding: DecidingRule | undefined
  // the result that the rules of one folder can only tighten
  let before: DecidingRule | undefined
  let source: string | undefined
  for (const { rule: written, matches } of rules) {
    if (written.tightens !== source) before = deciding
    source = written.tightens
    const match = matches(tool, piece)
    const rule: DecidingRule =
      match === 'unsure' && written.effect === 'deny' ? { ...written, effect: 'ask', isUnsure: true } : written
    if (match === 'no' || (match !== 'yes' && !isStricter(rule, deciding))) continue
    deciding = source === undefined || isStricter(rule, before) ? rule : before
  }
  return deciding
}

function isStricter(rule: ToolRule, than: ToolRule | undefined): boolean {
  return than === undefined || strictness(rule) > strictness(than)
}

interface CompiledRule {
  readonly rule: ToolRule
  readonly matches: (tool: string, piece: SubjectPiece | undefined) => PatternMatch
}

/** Rights are narrowed for each call while their rules stay the same: patterns are compiled once per list. */
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
  const { effect } = rule
  const { tool, pattern } = ruledTools(rule)
  const test = pattern === undefined ? undefined : compilePattern(pattern, effect, workspace)
  const isTool = toolPattern(tool)
  return {
    rule,
    matches(called, piece) {
      if (!isTool(called)) return 'no'
      if (test === undefined) return 'yes'
      return piece === undefined ? 'no' : test(piece)
    },
  }
}
