import { isBatonError, rewordError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import type { PromptTarget } from '../run/prompt-target.ts'

/** Lists files; a glob that leaves the workspace is shown where it is written, as in a run. */
export async function placeGlobError<T>(target: PromptTarget, list: () => T): Promise<T> {
  try {
    return list()
  } catch (error) {
    if (!isBatonError(error) || !isObject(error.cause) || !('globKey' in error.cause)) throw error
    throw rewordError(error, { place: await target.placeOf([String(error.cause['globKey'])]) })
  }
}
