import type { ToolRule } from '../../event/permission.ts'

/**
 * Whether rules allow `webfetch` a host by its own name, with no pattern that stands for others as well: what this machine
 * and private networks need, since any name may lead there.
 */
export function namesHost(host: string, lists: readonly (readonly ToolRule[])[]): boolean {
  const effects = lists.flatMap((rules) =>
    rules
      .filter((rule) => isAbout(rule, host))
      .map(({ effect }) => effect)
      .slice(-1),
  )
  return effects.length > 0 && effects.every((effect) => effect === 'allow')
}

function isAbout({ tool, pattern, tightens, effect }: ToolRule, host: string): boolean {
  // what came with a folder opens nothing
  if (tightens !== undefined && effect === 'allow') return false
  return tool === 'webfetch' && pattern !== undefined && pattern.toLowerCase().replace(/^\[|\]$/g, '') === host
}
