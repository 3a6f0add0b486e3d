import { relative, sep } from 'node:path'
import { isInside } from '../base/files.ts'
import { compileGlobs } from '../base/glob.ts'
import type { Action, ToolRule, ToolSubject, Verdict } from '../event/permission.ts'
import { factsOf, toolNames } from './toolbox/names.ts'

type ToolAction = Extract<Action, { readonly kind: 'tool' }>

type Effects = Readonly<Record<string, ToolRule['effect'] | Readonly<Record<string, ToolRule['effect']>>>>

/** The rules of one run: what holds when nobody says otherwise, and behind it what `[permission]` says. */
export function toolRules(permission: Effects = {}): readonly ToolRule[] {
  const initial = toolNames.map((tool): ToolRule => ({ tool, effect: factsOf(tool).initial, origin: 'default' }))
  const written = Object.entries(permission).flatMap(([tool, given]): readonly ToolRule[] => {
    if (typeof given === 'string') return [{ tool, effect: given, origin: '[permission]' }]
    return Object.entries(given).map(([pattern, effect]) => ({ tool, pattern, effect, origin: '[permission]' }))
  })
  return [...initial, ...written]
}

const strictness = ['allow', 'ask', 'deny'] as const

/** What a call of a tool needs: the strictest of what several lists of rules say. */
export function toolVerdict(lists: readonly (readonly ToolRule[])[], action: ToolAction, workspace: string): Verdict {
  const deciding = lists.map((rules) => decidingRule(rules, action, workspace))
  const effects = deciding.map((rule) => rule?.effect ?? 'ask')
  const effect = strictness.findLast((one) => effects.includes(one)) ?? 'ask'
  if (effect !== 'deny') return { kind: effect }
  const { origin, pattern } = deciding.find((rule) => rule?.effect === 'deny') ?? {}
  const which = pattern === undefined ? action.tool : `${action.tool} of ${pattern}`
  return { kind: 'deny', reason: `${which} is denied (${origin ?? 'default'})`, code: 'UNTRUSTED' }
}

/** The last rule that matches; one that came with a folder only where it is stricter than those before. Undefined: none does. */
function decidingRule(rules: readonly ToolRule[], action: ToolAction, workspace: string): ToolRule | undefined {
  let deciding: ToolRule | undefined
  for (const rule of rules) {
    if (!isAbout(rule, action, workspace)) continue
    const isStricter = strictness.indexOf(rule.effect) > strictness.indexOf(deciding?.effect ?? 'ask')
    if (rule.tightens !== true || isStricter) deciding = rule
  }
  return deciding
}

function isAbout({ tool, pattern }: ToolRule, { tool: called, subject }: ToolAction, workspace: string): boolean {
  if (tool !== '*' && tool !== called) return false
  if (pattern === undefined) return true
  return subject !== undefined && matches(pattern, subject, workspace)
}

function matches(pattern: string, subject: ToolSubject, workspace: string): boolean {
  switch (subject.kind) {
    case 'path': {
      const { path } = subject
      const name = isInside(workspace, path) ? relative(workspace, path).split(sep).join('/') : path
      return compileGlobs([pattern]).matches(name)
    }
    case 'host':
      return pattern === subject.host
    case 'command':
      return pattern === subject.line
    case 'name':
      return pattern === subject.name
  }
}
