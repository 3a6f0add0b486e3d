import { realPath } from '../../base/files.ts'
import { sizeText } from '../../base/size.ts'
import { mostPlanned, notePlanned } from '../changes/overlay.ts'
import type { Files } from '../changes/change-space.ts'
import { type Asking, type DryDiffs, type FilePlan, workDiff, type WorkedOut } from './plan-file-change.ts'

type ReadyPlan = Extract<FilePlan, { readonly kind: 'ready' }>

/** The diffs of a change that a dry run only plans. `approved`: the diff that the user has approved. */
export async function dryDiffs(
  path: string,
  { worked, approved }: { readonly worked: WorkedOut; readonly approved: string | undefined },
  call: Asking,
): Promise<DryDiffs> {
  const { box } = call
  const real = realPath(path)
  const diff = approved ?? (await workDiff(worked, call))
  if (isFirst(real, call)) return { diff, whole: diff }
  const { steps } = worked
  const first = box.first.get(real)
  // the plan is from an earlier process: the disk still has the first content
  if (first === undefined) return { diff, whole: await workDiff({ steps, files: (disk) => disk }, call) }
  const files = (disk: Files): Files => ({
    ...disk,
    kindAt: (asked) => (asked !== path ? disk.kindAt(asked) : first === null ? undefined : 'file'),
    textAt: (asked) => (asked === path ? (first ?? '') : disk.textAt(asked)),
  })
  return { diff, whole: await workDiff({ steps, files }, call) }
}

/**
 * Records a planned change so that later calls of the dry run see it; false if the limit is exceeded. `worked`: what
 * the plan was made from; undefined if an earlier process planned the change, which is then already recorded.
 */
export function noteDry({ path, after }: ReadyPlan, worked: WorkedOut | undefined, call: Asking): boolean {
  const { content, present = null } = worked ?? {}
  if (content === undefined) return true
  const texts = new Map([[after, content.toString('utf8')]])
  if (!notePlanned([{ op: 'write', path, hash: after }], texts, call.context.services)) return false
  const real = realPath(path)
  if (isFirst(real, call)) call.box.first.set(real, present)
  return true
}

/** Whether no earlier call would have changed this file. */
function isFirst(real: string, { box }: Asking): boolean {
  return !box.first.has(real) && !box.work.hasPlanned(real)
}

export const tooMuchPlanned = `a dry run keeps at most ${sizeText(mostPlanned)} of planned file content: this change is not planned`
