import type { ToolRule } from '../../event/permission.ts'
import { isHost } from '../capabilities.ts'
import { bracketed } from '../rule-pattern.ts'

/**
 * Whether rules allow `webfetch` this host by its exact name, without wildcards. This machine and private networks
 * require that, because any host name may resolve to them.
 */
export function namesHost(url: URL, lists: readonly (readonly ToolRule[])[]): boolean {
  const effects = lists.flatMap((rules) => rules.findLast((rule) => isAbout(rule, url))?.effect ?? [])
  return effects.length > 0 && effects.every((effect) => effect === 'allow')
}

function isAbout({ tool, pattern, tightens, effect }: ToolRule, url: URL): boolean {
  // rules that come with a folder can only tighten
  if (tightens !== undefined && effect === 'allow') return false
  return tool === 'webfetch' && pattern !== undefined && !pattern.includes('*') && isHost(bracketed(pattern), url)
}
