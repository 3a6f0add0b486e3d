import type { ToolRule } from '../../event/permission.ts'
import { keyPatterns } from '../protected/key-places.ts'

const everything = ['/', '/**']
const workspace = ['.', '**']

const readers = ['read', 'glob', 'grep']
/** Other limits on writing do not depend on rules: nothing outside the workspace, nothing protected. */
const writers = ['edit', 'write']

function ruled(tool: string, patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] {
  return patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
}

/**
 * What file tools cannot access unless a rule allows it: places that hold keys, and for tools that read, everything
 * outside the workspace. The last matching rule applies.
 */
export const fileRules: readonly ToolRule[] = [
  ...readers.flatMap((tool) => [...ruled(tool, everything, 'deny'), ...ruled(tool, workspace, 'allow')]),
  ...[...readers, ...writers].flatMap((tool) =>
    keyPatterns.map((pattern): ToolRule => ({ tool, pattern, effect: 'deny', origin: 'default', isKeyPlace: true })),
  ),
]
