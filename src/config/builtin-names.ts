/** The names of the definitions that ship with Baton, which are in builtin-definitions.ts. */
const builtInNames = ['Bash', 'general-purpose', 'Explore', 'Plan'] as const

export type BuiltInName = (typeof builtInNames)[number]

/** Programs that are agents under their own name, unless something else defines it. */
export const presetNames = ['claude', 'codex', 'gemini', 'opencode'] as const

/** Whether the name is an agent even without any definition. */
export function isBuiltInName(name: string): boolean {
  return [...builtInNames, ...presetNames].some((known) => known === name)
}
