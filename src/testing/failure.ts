import { isBatonError, messageOf, type SourcePlace } from '../base/error.ts'

/** Why a test failed. */
export interface TestFailure {
  readonly message: string
  readonly place?: SourcePlace | undefined
  readonly hint?: string | undefined
  /** A unified diff. */
  readonly diff?: string | undefined
}

/** Anything that was thrown, as what a test failed for. */
export function failureOf(error: unknown): TestFailure {
  const message = messageOf(error)
  if (!isBatonError(error)) return { message }
  const { place, hint, diff } = error
  return { message, place, hint, diff }
}

/** The same with all its texts rewritten. */
export function mapFailure({ message, place, hint, diff }: TestFailure, map: (text: string) => string): TestFailure {
  return {
    message: map(message),
    ...(place === undefined ? {} : { place: { ...place, file: map(place.file) } }),
    ...(hint === undefined ? {} : { hint: map(hint) }),
    ...(diff === undefined ? {} : { diff: map(diff) }),
  }
}
