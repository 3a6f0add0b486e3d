import type { Action, Verdict } from '../../event/permission.ts'
import { mayRead } from '../guard.ts'
import type { ToolCall } from './kind.ts'
import type { ToolName } from './rows.ts'

const strictness: readonly Verdict['kind'][] = ['allow', 'ask', 'deny']

/**
 * Whether a call may show a path (absolute, without links) that it found below the permitted one: not if a rule for
 * this tool or for `read` is stricter about it. Otherwise the call would bypass the rules for `read`.
 */
export function visibleTo(
  tool: ToolName,
  { context, permit }: Pick<ToolCall, 'context' | 'permit'>,
): (path: string) => boolean {
  const { permission } = context.services
  const { packs } = context.scope.rights
  const { action } = permit
  const root = action.kind === 'tool' && action.subject?.kind === 'path' ? action.subject.path : undefined
  const permitted = rank(root)

  function rank(path: string | undefined): number {
    const asked: Action = { kind: 'tool', tool, input: null, ...(path && { subject: { kind: 'path', path } }) }
    return strictness.indexOf(permission.check(asked).kind)
  }

  return (path) => rank(path) <= permitted && (packs.length === 0 || mayRead(path, context))
}
