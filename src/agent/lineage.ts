import { BatonError } from '../base/error.ts'
import { canonicalHash } from '../base/hash.ts'
import type { Json } from '../base/json.ts'
import { type Ancestor, type RunContext, withScope } from '../event/context.ts'

/** How deep agents may be nested. */
const maxDepth = 8

/**
 * The context of an agent that is about to run, with the agent added to its ancestors. An agent that is called again
 * with the same input can never end and is reported immediately; other recursion is allowed down to `maxDepth`.
 * @throws BatonError AGENT_CYCLE naming the path, LIMIT beyond the depth if no agent repeats
 */
export function descend(agent: Pick<Ancestor, 'name' | 'file'>, input: Json, context: RunContext): RunContext {
  const ancestor: Ancestor = { name: agent.name, file: agent.file, call: canonicalHash(input) }
  const path = [...context.scope.ancestors, ancestor]
  const again = context.scope.ancestors.some(({ file, call }) => file === ancestor.file && call === ancestor.call)
  const repeated = new Set(path.map(({ file }) => file)).size < path.length
  if (again || (repeated && path.length > maxDepth)) {
    throw new BatonError('AGENT_CYCLE', `agents run each other in a cycle: ${names(path)}`, {
      hint: 'Let one of them answer without running the other.',
    })
  }
  if (path.length > maxDepth) {
    throw new BatonError('LIMIT', `agents are nested more than ${maxDepth} deep: ${names(path)}`, {
      hint: `Agents may be nested at most ${maxDepth} deep.`,
    })
  }
  return withScope(context, { ancestors: path })
}

function names(path: readonly Ancestor[]): string {
  return path.map(({ name }) => name).join(' → ')
}
