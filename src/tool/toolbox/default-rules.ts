import type { ToolRule } from '../../event/permission.ts'
import { keyPatterns } from '../protected/key-places.ts'
import { isWriter, ownToolNames, subjectKind } from './rows.ts'

const everything = ['/', '/**']
const workspace = ['.', '**']

const withPath = ownToolNames.filter((name) => subjectKind(name) === 'path')

function ruled(tool: string, patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] {
  return patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
}

/**
 * What tools whose calls name a path cannot access unless a rule allows it: places that hold keys, and everything
 * outside the workspace, for which tools that change files have limits of their own. The last matching rule applies.
 */
export const fileRules: readonly ToolRule[] = [
  ...withPath
    .filter((tool) => !isWriter(tool))
    .flatMap((tool) => [...ruled(tool, everything, 'deny'), ...ruled(tool, workspace, 'allow')]),
  ...withPath.flatMap((tool) =>
    keyPatterns.map((pattern): ToolRule => ({ tool, pattern, effect: 'deny', origin: 'default', isKeyPlace: true })),
  ),
]
