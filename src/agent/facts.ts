import type { RunContext } from '../event/context.ts'
import { runUid } from '../script/run-uid.ts'
import type { ScriptParts } from './parts.ts'

/**
 * The context of an agent run with what its scripts see of it as `CTX` (spec/aipack.md 3.8). Runs start in any order, so
 * the number is recorded: a resumed run gives the same.
 */
export function withRunFacts(context: RunContext, { countRun }: Pick<ScriptParts, 'countRun'>): RunContext {
  const parent = context.facts?.runUid
  const runNum = context.effects.observe([...context.at, 'run'], { name: 'run.number', args: [] }, countRun)
  const facts = { runUid: runUid(context), runNum, ...(parent === undefined ? {} : { parentRunUid: parent }) }
  return { ...context, facts }
}

/** The context of a section with the position of its input. Places of inputs are those of `placeOfInput`. */
export function withTaskFacts(context: RunContext, run: RunContext): RunContext {
  if (context.facts === undefined) return context
  const [name, index] = context.at.slice(run.at.length)
  return { ...context, facts: { ...context.facts, taskNum: name === 'task' ? Number(index) + 1 : 1 } }
}
