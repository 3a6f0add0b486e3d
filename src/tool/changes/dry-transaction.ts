import { sha256 } from '../../base/hash.ts'
import { sizeText } from '../../base/size.ts'
import { emit } from '../../event/context.ts'
import type { OverlayChange } from '../../event/overlay.ts'
import type { FileCall } from '../workspace-files.ts'
import type { Directive } from './directive.ts'
import { mostPlanned, notePlanned, overlaid } from './overlay.ts'
import type { ChangeStep } from './plan.ts'
import { type PlannedChanges, previewTransaction, type RefusedPlan } from './plan-transaction.ts'
import type { TransactionOptions } from './transaction.ts'

/**
 * What a set of changes would do in a run that changes no files: planned against the files as earlier changes would
 * have left them; later ones see its result. Recorded as one observation, so that a resumed run knows it.
 */
export async function dryTransaction(
  asked: readonly Directive[],
  { inTurn, ...options }: TransactionOptions,
  call: FileCall,
): Promise<PlannedChanges | RefusedPlan> {
  const { services } = call.context
  const work = async (): Promise<PlannedChanges | RefusedPlan> => {
    const texts = new Map<string, string>()
    let isNew = false
    const overlayOf = (steps: readonly ChangeStep[]): readonly OverlayChange[] => {
      isNew = true
      const changes = steps.flatMap(({ action }) => (action === undefined ? [] : [changeOf(action, texts)]))
      for (const text of texts.values()) services.texts?.keep(text)
      return changes
    }
    const files = (disk: Parameters<typeof overlaid>[1]): typeof disk => overlaid(services.planned, disk)
    const result = await previewTransaction(asked, { ...options, files }, call, overlayOf)
    // what an earlier process has planned is noted at the start of a resume
    if (result.kind !== 'planned' || !isNew || notePlanned(result.overlay ?? [], texts, services)) return result
    emit(call.context, {
      type: 'warning',
      message: `a dry run keeps at most ${sizeText(mostPlanned)} of planned file content: later parts of the run do not see these changes`,
    })
    return result
  }
  return inTurn === undefined ? work() : inTurn.run(work, services.signal)
}

function changeOf(action: NonNullable<ChangeStep['action']>, texts: Map<string, string>): OverlayChange {
  if (action.op !== 'write' && action.op !== 'append') return action
  const hash = sha256(action.content)
  texts.set(hash, action.content)
  return { op: 'write', path: action.path, hash }
}
