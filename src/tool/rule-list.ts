import type { ToolRule } from '../event/permission.ts'
import { fileRules } from './toolbox/default-rules.ts'
import { factsOf, toolNames } from './toolbox/names.ts'

/** What holds when nobody says otherwise: of tools that Baton does not know, each call is asked about. */
const defaultRules: readonly ToolRule[] = [
  { tool: '*', effect: 'ask', origin: 'default' },
  ...toolNames.map((tool): ToolRule => ({ tool, effect: factsOf(tool).initial, origin: 'default' })),
  ...fileRules,
]

/** The rules of one run, weakest first: what holds when nobody says otherwise, and behind it what `[permission]` says. */
export function toolRules(written: readonly ToolRule[] = []): readonly ToolRule[] {
  return [...defaultRules, ...written]
}
