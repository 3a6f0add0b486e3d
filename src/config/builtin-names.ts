/** The names of the definitions that come with Baton; builtin-definitions.ts has what they are. */
const builtInNames = ['Bash', 'general-purpose', 'Explore', 'Plan'] as const

export type BuiltInName = (typeof builtInNames)[number]

/** Programs that are agents by their names alone, where nothing else defines these. */
export const presetNames = ['claude', 'codex', 'gemini', 'opencode'] as const

/** Whether the name means an agent without anybody's definition. */
export function isBuiltInName(name: string): boolean {
  return [...builtInNames, ...presetNames].some((known) => known === name)
}
