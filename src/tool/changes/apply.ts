import type { FileCall } from '../workspace-files.ts'
import { performAction } from './action.ts'
import { type Directive, relativeTo } from './directive.ts'
import { type ChangeItem, errorItem, planStep, warnOf } from './plan.ts'
import { diskSpace } from './space.ts'

/**
 * Carries out directives one after the other below a base folder (absolute), each against the files as they then are.
 * One that fails leaves the others standing (P-D8). What the n-th makes of the files it finds is an observation,
 * carrying it out an effect, both below the place of the call.
 * @throws the reason of the context's signal; what was done until then stays
 */
export function applyChanges(
  directives: readonly Directive[],
  baseDir: string,
  { context, at }: FileCall,
): readonly ChangeItem[] {
  const space = diskSpace(baseDir, context)
  return relativeTo(baseDir, directives).map((directive, index) => {
    context.signal.throwIfAborted()
    const place = [...at, String(index)]
    const observation = { name: 'file_changes', args: [directive.kind, directive.filePath] }
    const step = context.effects.observe([...place, 'plan'], observation, () => planStep(directive, space))
    const { item, action } = step
    if (action === undefined) return item
    try {
      performAction(action, { context, at: place })
      warnOf(step, context)
      return item
    } catch (error) {
      return errorItem(directive, error)
    }
  })
}
