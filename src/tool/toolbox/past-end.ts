import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'

/**
 * The error of a read that starts after the end. `shown`: the name of what is read; `has`: its length as text, such as
 * `3 lines`.
 */
export function pastEnd(shown: string, has: string, offset: number): BatonError {
  return new BatonError('FILE_FAILED', modelText`${shown} has ${has}: offset ${offset} is past the end`)
}
