import type { ToolRule } from '../../event/permission.ts'
import { isHost } from '../capabilities.ts'
import { bracketed } from '../rule-pattern.ts'

/**
 * Whether rules allow `webfetch` the host of an address by its own name, with no pattern that stands for others as well: what
 * this machine and private networks need, since any name may lead there.
 */
export function namesHost(url: URL, lists: readonly (readonly ToolRule[])[]): boolean {
  const effects = lists.flatMap((rules) => rules.findLast((rule) => isAbout(rule, url))?.effect ?? [])
  return effects.length > 0 && effects.every((effect) => effect === 'allow')
}

function isAbout({ tool, pattern, tightens, effect }: ToolRule, url: URL): boolean {
  // what came with a folder opens nothing
  if (tightens !== undefined && effect === 'allow') return false
  return tool === 'webfetch' && pattern !== undefined && !pattern.includes('*') && isHost(bracketed(pattern), url)
}
