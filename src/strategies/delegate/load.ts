import { BatonError } from '../../base/error.ts'
import { isInWorkspace } from '../../settings/strategies/delegate.ts'
import { placeInPrompt, type RunSpec } from '../../config/run-spec.ts'

/** A list in the workspace, where nothing may be written. */
export async function delegateProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  const { delegate, write_mode: writes } = spec.settings
  if (delegate === undefined || writes !== false || !isInWorkspace(delegate.list)) return []
  const message = `the list ${delegate.list} is in the workspace, where nothing may be written`
  const error = new BatonError('CONFIG_INVALID', message, {
    place: await placeInPrompt(spec, ['delegate', 'task_list'], 'value'),
    hint: 'Add write_mode = true, or name a file without a path: it is then in the folder of the run.',
  })
  return [error]
}
