import { BatonError } from '../base/error.ts'
import { type Action, actionText } from '../event/permission.ts'

/** The refusal of an action that needs an approval if nobody can be asked. */
export function needsApproval(action: Action): BatonError {
  return new BatonError('NEEDS_INPUT', `${actionText(action)} needs approval, and nobody can be asked`, {
    hint: 'Run it on a terminal, or use -y or --on-ask.',
  })
}
