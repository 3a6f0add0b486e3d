/** The names of the definitions that come with Baton; builtin-definitions.ts has what they are. */
const builtInNames = ['Bash', 'general-purpose', 'Explore', 'Plan'] as const

export type BuiltInName = (typeof builtInNames)[number]

export function isBuiltInName(name: string): name is BuiltInName {
  return (builtInNames as readonly string[]).includes(name)
}
