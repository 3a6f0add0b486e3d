import type { ContextWith, NarrowPorts } from '../event/context.ts'
import type { ToolRule } from '../event/permission.ts'

/** Cached, because the rules of a list are compiled only once. */
const lists = new WeakMap<readonly ToolRule[], readonly ToolRule[]>()

/**
 * The same context, but without the approvals that only Baton's built-in rules require (R195). Rules that someone has
 * written still apply, and what is denied stays denied.
 */
export function withoutDefaultApprovals<Context extends ContextWith<'rights', NarrowPorts>>(context: Context): Context {
  const { scope, services } = context
  const rights = { ...scope.rights, rules: scope.rights.rules.map(withoutQuestions) }
  const permission = services.permissionOf(rights)
  return {
    ...context,
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
