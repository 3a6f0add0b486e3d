import { type DataText, pathText } from '../base/data-text.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { type Finding, mismatch } from './issue.ts'

export const permissionEffects = ['allow', 'ask', 'deny'] as const

/** What is done about the calls of a tool that a rule is about. */
type PermissionEffect = (typeof permissionEffects)[number]

/** One rule of `[permission]`. Plain JSON: it is recorded. */
export interface PermissionRule {
  /** The name of a tool; `*` in it stands for any characters. */
  readonly tool: string
  /** What of its calls; left out: all. */
  readonly pattern?: string
  readonly effect: PermissionEffect
  /** Where it is written: `baton.toml:3`, `-c permission.todo`, `default`. */
  readonly origin: string
  /**
   * The source that it came with, a file of a folder that is not trusted: the rules of one such source count together, and
   * only where they are stricter than what the rules before them say.
   */
  readonly tightens?: string
}

/** `permission.bash."npm test*"`: a rule as people write it. */
export function ruleKey({ tool, pattern }: Pick<PermissionRule, 'tool' | 'pattern'>): string {
  return pathText(['permission', tool, ...(pattern === undefined ? [] : [pattern])])
}

/** The rules of one source in the order in which they are written, without their lines. */
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

/** What is wrong with a `[permission]` of `# Options`, which no schema has checked. */
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

/** The same, each with the line on which it is written. */
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
