import { type DataText, pathText } from '../base/data-text.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { type Finding, mismatch } from '../settings/issue.ts'

const permissionEffects = ['allow', 'ask', 'deny'] as const

/** The effect of a rule on the calls that it matches. */
type PermissionEffect = (typeof permissionEffects)[number]

/** One rule of `[permission]`. Plain JSON: it is recorded. */
export interface PermissionRule {
  /** The name of a tool; `*` in it stands for any characters. */
  readonly tool: string
  /** Matches some calls of the tool; omitted: all. */
  readonly pattern?: string
  readonly effect: PermissionEffect
  /** Where it is written: `baton.toml:3`, `-c permission.todo`, `default`. */
  readonly origin: string
  /**
   * The untrusted source of the rule, if it came with a folder: the rules of one such source are evaluated together,
   * and count only if they are stricter than the rules before them.
   */
  readonly tightens?: string
}

/** `permission.bash."npm test*"`: a rule as people write it. */
export function ruleKey({ tool, pattern }: Pick<PermissionRule, 'tool' | 'pattern'>): string {
  return pathText(['permission', tool, ...(pattern === undefined ? [] : [pattern])])
}

/** The rules of one source in the order written, without their lines. */
export function rulesOf(
  permission: Json | undefined,
  { origin, tightens }: { readonly origin: string; readonly tightens?: boolean },
): readonly PermissionRule[] {
  if (!isJsonObject(permission)) return []
  const common = { origin, ...(tightens === true ? { tightens: origin } : {}) }
  return Object.entries(permission).flatMap(([tool, given]): readonly PermissionRule[] => {
    if (!isJsonObject(given)) return [{ tool, effect: given as PermissionEffect, ...common }]
    return Object.entries(given).map(([pattern, effect]) => {
      return { tool, pattern, effect: effect as PermissionEffect, ...common }
    })
  })
}

/** Errors in a `[permission]` of `# Options`, which has no schema. */
export function wrongRules(permission: Json): readonly Finding[] {
  const isEffect = (value: Json): boolean => (permissionEffects as readonly Json[]).includes(value)
  if (!isJsonObject(permission)) return [mismatch(['permission'], 'a table', permission)]
  return Object.entries(permission).flatMap(([tool, given]): readonly Finding[] => {
    if (isEffect(given)) return []
    if (!isJsonObject(given)) return [mismatch(['permission', tool], effectText, given)]
    return Object.entries(given).flatMap(([pattern, effect]) =>
      isEffect(effect) ? [] : [mismatch(['permission', tool, pattern], '"allow", "ask" or "deny"', effect)],
    )
  })
}

const effectText = '"allow", "ask", "deny", or a table of them by pattern'

/** The same, each with its line. */
export async function locatedRules(
  permission: Json | undefined,
  { file, locate, tightens }: { readonly file: string; readonly tightens: boolean } & Pick<DataText, 'locate'>,
): Promise<readonly PermissionRule[]> {
  const rules = rulesOf(permission, { origin: file, tightens })
  return Promise.all(
    rules.map(async (rule) => {
      const { tool, pattern } = rule
      const position = await locate(['permission', tool, ...(pattern === undefined ? [] : [pattern])], 'key')
      return position === undefined ? rule : { ...rule, origin: `${file}:${position.line}` }
    }),
  )
}
