import { isObject } from '../base/json.ts'
import type { Grant } from '../event/permission.ts'

/** What older processes of a run recorded about approval questions. */
export interface PastApprovals {
  /**
   * The places of the questions, each once, in the order in which they were first asked: the first one has the number
   * 1.
   */
  readonly places: readonly string[]
  /** What was allowed for the rest of the run. */
  readonly grants: readonly Grant[]
}

/** What a decision allows for the rest of the run. */
export function grantIn(decision: unknown): readonly Grant[] {
  return isObject(decision) && isObject(decision['always']) ? [decision['always'] as unknown as Grant] : []
}
