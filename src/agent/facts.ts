import { type RunContext, withScope } from '../event/context.ts'
import { part } from '../event/place.ts'
import { runUid } from '../script/run-uid.ts'
import type { ScriptParts } from './parts.ts'

/**
 * The context of an agent run with the values that its scripts see as `CTX`. Runs start in any order, so the number is
 * recorded, and a resumed run gets the same one.
 */
export function withRunFacts(context: RunContext, { countRun }: Pick<ScriptParts, 'countRun'>): RunContext {
  const { scope, services } = context
  const parent = scope.facts?.runUid
  const runNum = services.effects.observe([...scope.at, part('run')], { name: 'run.number', args: [] }, countRun)
  const facts = { runUid: runUid(context), runNum, ...(parent === undefined ? {} : { parentRunUid: parent }) }
  return withScope(context, { facts })
}

/** The context of a section with the position of its input. `placeOfInput` makes the places of inputs. */
export function withTaskFacts(context: RunContext, run: RunContext): RunContext {
  const { facts, at } = context.scope
  if (facts === undefined) return context
  const input = at[run.scope.at.length]
  return withScope(context, { facts: { ...facts, taskNum: input?.kind === 'task' ? input.index + 1 : 1 } })
}
