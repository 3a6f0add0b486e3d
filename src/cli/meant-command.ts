import { isBatonError, rewordError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { commandSpecs } from './command-specs.ts'

/** The command that a mistyped word probably means; undefined if none is similar. */
export function meantCommand(word: string): string | undefined {
  return nearest(word, Object.keys(commandSpecs))
}

/** The error for a target that does not exist. If its name is similar to a command, the hint suggests that first. */
export function withMeantCommand(error: unknown, target: string): unknown {
  const isAbout = isBatonError(error) && error.code === 'AGENT_NOT_FOUND' && error.message.includes(`"${target}"`)
  const meant = isAbout ? meantCommand(target) : undefined
  if (!isAbout || meant === undefined) return error
  return rewordError(error, { hint: `Did you mean baton ${meant}? ${error.hint ?? ''}`.trimEnd() })
}
