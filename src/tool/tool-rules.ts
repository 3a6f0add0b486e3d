import { pathText } from '../base/data-text.ts'
import { realPath } from '../base/files.ts'
import type { RunScope } from '../event/context.ts'
import {
  type Action,
  type ReadCommand,
  toolEffects,
  type ToolRule,
  type ToolSubject,
  type Verdict,
} from '../event/permission.ts'
import { namesOf } from './hard-links.ts'
import { keyPatternOf } from './protected/key-places.ts'
import { compilePattern, type PatternMatch, type SubjectPiece } from './rule-pattern.ts'
import { ruledTools, toolPattern } from './tool-filter.ts'

export type ToolAction = Extract<Action, { readonly kind: 'tool' }>

/** What several lists of rules decide about a call: the strictest result. A list without a matching rule is ignored. */
export function toolVerdict(lists: readonly (readonly ToolRule[])[], action: ToolAction, workspace: string): Verdict {
  const strictest = strictestOf(
    subjectsOf(action, workspace).flatMap((subject) => {
      const asked = { tool: action.tool, ...(subject && { subject }) }
      const own = lists.flatMap((rules) => decidingRule(rules, asked, workspace) ?? [])
      if (!searchers.has(action.tool)) return own
      // what is found is read
      const read = { tool: 'read', ...(subject && { subject }) }
      return [...own, ...lists.flatMap((rules) => decidingRule(writtenRules(rules), read, workspace) ?? [])]
    }),
  )
  if (strictest === undefined) return { kind: 'ask' }
  if (strictest.effect === 'allow') return { kind: 'allow' }
  if (strictest.effect === 'ask') {
    return strictest.pattern === undefined ? { kind: 'ask' } : { kind: 'ask', rule: ruleText(strictest) }
  }
  return { kind: 'deny', reason: `${ruleText(strictest)} (${strictest.origin})`, code: 'UNTRUSTED' }
}

/** Tools that show content or names of what `read` shows. */
const searchers: ReadonlySet<string> = new Set(['grep', 'glob'])

/** The subject of a call; for a file with several names, under each of them. */
function subjectsOf({ subject }: ToolAction, workspace: string): readonly (ToolSubject | undefined)[] {
  if (subject?.kind !== 'path') return [subject]
  return namesOf(subject.path, realPath(workspace)).map((path) => ({ kind: 'path', path }))
}

/**
 * The rule that closes a file (absolute, links resolved) to everyone who reads: the strictest of those that somebody has
 * written for `read` with a pattern, under each name of the file. `keys`: and of the default rules for places that hold
 * keys. Undefined if none matches, or the last one allows it.
 */
export function closingRule(
  lists: readonly (readonly ToolRule[])[],
  path: string,
  { workspace, keys = false }: { readonly workspace: string; readonly keys?: boolean },
): DecidingRule | undefined {
  const applied = lists.map(keys ? closingRules : namingRules).filter((rules) => rules.length > 0)
  if (applied.length === 0) return undefined
  const deciding = namesOf(path, realPath(workspace)).flatMap((name) =>
    applied.flatMap(
      (rules) => decidingRule(rules, { tool: 'read', subject: { kind: 'path', path: name } }, workspace) ?? [],
    ),
  )
  const strictest = strictestOf(deciding)
  return strictest?.effect === 'allow' ? undefined : strictest
}

/** The rule with a pattern that somebody has written for `read` and that decides about a path; undefined if none. */
export function writtenReadRule(
  lists: readonly (readonly ToolRule[])[],
  path: string,
  workspace: string,
): DecidingRule | undefined {
  const asked = { tool: 'read', subject: { kind: 'path', path } } as const
  return strictestOf(lists.flatMap((rules) => decidingRule(namingRules(rules), asked, workspace) ?? []))
}

/** Whether rules for `read` close any files to scripts. */
export function closesFiles(lists: readonly (readonly ToolRule[])[]): boolean {
  return lists.some((rules) => namingRules(rules).length > 0)
}

const written = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()
const naming = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()
const closing = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()

function writtenRules(rules: readonly ToolRule[]): readonly ToolRule[] {
  return cached(written, rules, ({ origin }) => origin !== 'default')
}

/** Rules that say which files, and not only how a tool may be used. */
function namingRules(rules: readonly ToolRule[]): readonly ToolRule[] {
  return cached(naming, rules, isNaming)
}

/** The same, and the default rules for places that hold keys. */
function closingRules(rules: readonly ToolRule[]): readonly ToolRule[] {
  return cached(closing, rules, (rule) => (rule.isKeyPlace === true ? rule.tool === 'read' : isNaming(rule)))
}

function isNaming(rule: ToolRule): boolean {
  const { tool, pattern } = ruledTools(rule)
  return rule.origin !== 'default' && pattern !== undefined && toolPattern(tool)('read')
}

function cached(
  lists: WeakMap<readonly ToolRule[], readonly ToolRule[]>,
  rules: readonly ToolRule[],
  isKept: (rule: ToolRule) => boolean,
): readonly ToolRule[] {
  const kept = lists.get(rules) ?? rules.filter(isKept)
  lists.set(rules, kept)
  return kept
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
  for (const { tightens, find } of rules) {
    if (tightens !== source) before = deciding
    source = tightens
    const found = find(tool, piece)
    if (found === undefined) continue
    const { rule: written, match } = found
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
  readonly tightens: string | undefined
  /** The rule, if it is about the tool, and whether it matches. */
  readonly find: (tool: string, piece: SubjectPiece | undefined) => FoundRule | undefined
}

interface FoundRule {
  readonly rule: ToolRule
  readonly match: PatternMatch
}

/** Rights are narrowed for each call while their rules stay the same: patterns are compiled once per list. */
const compiledLists = new WeakMap<
  readonly ToolRule[],
  { readonly workspace: string; readonly rules: readonly CompiledRule[] }
>()

function compiled(rules: readonly ToolRule[], workspace: string): readonly CompiledRule[] {
  const known = compiledLists.get(rules)
  if (known?.workspace === workspace) return known.rules
  const made = rules.flatMap((rule, at) => {
    if (rule.isKeyPlace !== true) return [compileRule(rule, workspace)]
    return rules[at - 1]?.isKeyPlace === true ? [] : [compileKeyRules(rules, at, workspace)]
  })
  compiledLists.set(rules, { workspace, rules: made })
  return made
}

function compileRule(rule: ToolRule, workspace: string): CompiledRule {
  const { effect, tightens } = rule
  const { tool, pattern } = ruledTools(rule)
  const test = pattern === undefined ? undefined : compilePattern(pattern, effect, workspace)
  const isTool = toolPattern(tool)
  return {
    tightens,
    find(called, piece) {
      if (!isTool(called)) return undefined
      if (test === undefined) return { rule, match: 'yes' }
      return piece === undefined ? undefined : { rule, match: test(piece) }
    },
  }
}

/** The rules for key places, which stand next to each other from `start`, as one: there are too many to try each. */
function compileKeyRules(rules: readonly ToolRule[], start: number, workspace: string): CompiledRule {
  const byTool = new Map<string, Map<string, ToolRule>>()
  for (const rule of rules.slice(start)) {
    if (rule.isKeyPlace !== true) break
    const ofTool = byTool.get(rule.tool) ?? new Map<string, ToolRule>()
    byTool.set(rule.tool, ofTool.set(rule.pattern ?? '', rule))
  }
  const root = realPath(workspace)
  return {
    tightens: undefined,
    find(called, piece) {
      const ofTool = byTool.get(called)
      if (ofTool === undefined || piece?.kind !== 'path') return undefined
      const rule = ofTool.get(keyPatternOf(piece.path, root) ?? '')
      return rule && { rule, match: 'yes' }
    },
  }
}
