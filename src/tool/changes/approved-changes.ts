import { defined } from '../../base/json.ts'
import { readDiff, withHunks } from '../../event/hunks.ts'
import type { PartialDecision } from '../../event/permission.ts'
import { type Files, filesAfter } from './change-space.ts'
import { type ShownChange, textOf } from './plan-transaction.ts'
import type { ChangeStep } from './plan.ts'

/** A change that was shown to the user. `hunks`: only these are made; default: all. */
export interface ApprovedChange extends Partial<PartialDecision> {
  readonly diff: string
}

/** The steps with only what was approved; undefined if they do anything else than what was shown. */
export function approvedSteps(
  steps: readonly ChangeStep[],
  {
    shown,
    approved,
    files: present,
  }: {
    readonly shown: readonly ShownChange[]
    readonly approved: readonly ApprovedChange[]
    readonly files: Files
  },
): readonly ChangeStep[] | undefined {
  const isAsShown = shown.length === approved.length && shown.every(({ diff }, index) => diff === approved[index]?.diff)
  if (!isAsShown) return undefined
  let files = present
  const made: ChangeStep[] = []
  for (const [index, step] of steps.entries()) {
    const number = shown.findIndex((change) => change.index === index)
    const { diff = '', hunks, edits = [] } = approved[number] ?? {}
    let { action } = step
    if (action !== undefined && hunks !== undefined) {
      const content = withHunks(textOf(files, action.path) ?? '', readDiff(diff), { hunks, edits })
      if (content === undefined) return undefined
      action = { op: 'write', path: action.path, content }
    }
    if (action !== undefined) files = filesAfter(files, action)
    made.push(action === step.action ? step : { ...step, ...defined({ action }) })
  }
  return made
}
