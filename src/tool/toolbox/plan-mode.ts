import { modelText } from '../../base/model-text.ts'
import { resolve } from 'node:path'
import { displayPath, realPath } from '../../base/files.ts'
import type { JsonObject } from '../../base/json.ts'
import type { PlanMode, Toolbox, ToolKind } from './kind.ts'
import { isHarmless, isWriter, rowOf } from './rows.ts'

/** The plan mode of one conversation; initially off. */
export function createPlanMode(): PlanMode {
  let file: string | undefined
  /** Settles with the last call that runs alone. */
  let last: Promise<unknown> = Promise.resolve()
  /** Settles when all calls so far have settled. */
  let all: Promise<unknown> = Promise.resolve()

  return {
    file: () => file,
    set: (next) => void (file = next),
    inTurn(turn, work) {
      const result = (turn === 'shared' ? last : all).then(work)
      const settled = result.then(
        () => undefined,
        () => undefined,
      )
      all = Promise.all([all, settled])
      // if it stops because it waits for the user, later calls stop as well
      if (turn === 'alone') last = result
      if (turn === 'alone') last.catch(() => undefined)
      return result
    },
  }
}

/** Whether this tool starts or ends the mode. */
function isSwitch(name: string): boolean {
  return rowOf(name)?.plans === true
}

/**
 * Why plan mode refuses a call, for the model; undefined if the mode is off, or the call only reads or writes the plan.
 */
export function planModeRefusal(
  { name, reads }: Pick<ToolKind, 'name' | 'reads'>,
  input: JsonObject,
  box: Toolbox,
): string | undefined {
  const plan = box.plan.file()
  if (plan === undefined || isSwitch(name) || reads === true || isHarmless(name)) return undefined
  if (isWriter(name) && isPlan(input['path'], plan, box)) return undefined
  const shown = displayPath(realPath(box.baseDir), plan)
  return modelText`plan mode is on: you may read, and write the plan to ${shown}. Call exit_plan when the plan is ready; then you may ${isWriter(name) ? modelText`change other files` : modelText`use ${name}`}.`
}

function isPlan(path: unknown, plan: string, { baseDir }: Toolbox): boolean {
  try {
    return typeof path === 'string' && realPath(resolve(baseDir, path)) === plan
  } catch {
    return false
  }
}
