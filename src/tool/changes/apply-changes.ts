import { item, part } from '../../event/place.ts'
import type { FileCall } from '../workspace-files.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeItem, type ChangeStep, errorItem, planStep, warnOf } from './plan.ts'
import { diskSpace, performStep } from './space.ts'
import type { TextThread } from './text-thread.ts'
import { whileUnchanged } from './while-unchanged.ts'

/**
 * Carries out directives one after the other below a base folder (absolute), each against the files as they then are.
 * One that fails leaves the others standing. What the n-th makes of the files it finds is an observation,
 * carrying it out an effect, both below the place of the call.
 * @throws the reason of the context's signal, or what the thread throws; what was done until then stays
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

/** Carries out one step. What keeps it from being done, or undefined. */
function doneStep({ action }: ChangeStep, directive: Directive, call: FileCall): ChangeItem | undefined {
  try {
    if (action !== undefined) performStep(action, call)
    return undefined
  } catch (error) {
    return errorItem(directive, error)
  }
}
