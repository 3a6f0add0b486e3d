import { item, part } from '../../event/place.ts'
import type { FileCall } from '../workspace-files.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeItem, type ChangeStep, errorItem, planStep, warnOf } from './plan.ts'
import { diskSpace, performStep } from './space.ts'
import type { TextThread } from './text-thread.ts'
import { whileUnchanged } from './while-unchanged.ts'

/**
 * Applies directives in order below a base folder (absolute), each to the files as they are at that point. A failing
 * directive does not affect the others. Planning the n-th directive is an observation, applying it an effect, both
 * below the place of the call.
 * @throws the reason of the context's signal, or what the thread throws; changes made before that remain
 */
export async function applyChanges(
  directives: readonly Directive[],
  { baseDir, thread }: { readonly baseDir: string; readonly thread: TextThread },
  { context, at }: FileCall,
): Promise<readonly ChangeItem[]> {
  const { effects, signal } = context.services
  const space = diskSpace(baseDir, context)
  const items: ChangeItem[] = []
  for (const [index, directive] of relativeTo(baseDir, directives).entries()) {
    signal.throwIfAborted()
    await thread.pause()
    const place = [...at, item(index)]
    const observation = { name: 'file_changes', args: [directive.kind, directive.filePath] }
    const step = await effects.observeAsync([...place, part('plan')], observation, () =>
      whileUnchanged(space, (present) => planStep(directive, present, thread)),
    )
    items.push(doneStep(step, directive, { context, at: place }) ?? step.item)
    if (step.action !== undefined && items.at(-1) === step.item) warnOf(step, context, baseDir)
  }
  return items
}

/** Applies one step. Returns the failed item, or undefined if it succeeded. */
function doneStep({ action }: ChangeStep, directive: Directive, call: FileCall): ChangeItem | undefined {
  try {
    if (action !== undefined) performStep(action, call)
    return undefined
  } catch (error) {
    return errorItem(directive, error)
  }
}
