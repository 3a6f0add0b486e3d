import type { RunContext } from '../event/context.ts'
import type { ToolRule } from '../event/permission.ts'

/** Kept, because the rules of a list are compiled once. */
const lists = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()

/**
 * The same context, in which nobody is asked what only Baton's own rules ask about (R195). Rules that somebody has written
 * hold, and what is denied stays so.
 */
export function withoutUsualQuestions({ scope, services }: RunContext): RunContext {
  const rights = { ...scope.rights, rules: scope.rights.rules.map(withoutQuestions) }
  const permission = services.permissionOf(rights)
  return {
    scope: { ...scope, rights },
    services: { ...services, permission, effects: services.effects.under(permission) },
  }
}

function withoutQuestions(rules: readonly ToolRule[]): readonly ToolRule[] {
  const known = lists.get(rules)
  if (known !== undefined) return known
  const made = rules.map((rule): ToolRule =>
    rule.origin === 'default' && rule.effect === 'ask' ? { ...rule, effect: 'allow' } : rule,
  )
  lists.set(rules, made)
  return made
}
