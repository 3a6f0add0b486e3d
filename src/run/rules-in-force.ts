import type { Settings } from '../config/settings.ts'
import { type PermissionRule, ruleKey } from '../config/permission-rules.ts'
import type { OriginRow } from '../config/layers.ts'
import { toolRules } from '../tool/rule-list.ts'

/** The rules for calls of tools as `baton config` shows them, in their order: the last that matches decides. */
export function ruleRows({ permission }: Pick<Settings, 'permission'>): readonly OriginRow[] {
  return toolRules(permission).map((rule) => ({ key: ruleKey(rule), value: rule.effect, origin: originOf(rule) }))
}

function originOf({ origin, tightens, effect }: PermissionRule): string {
  return tightens !== undefined && effect !== 'deny' ? `${origin}, only where it is stricter` : origin
}
