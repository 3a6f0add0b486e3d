import { isBatonError, rewordError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { commandSpecs } from './command-specs.ts'

/** The command that a word is a slip of; undefined where none is near. */
export function meantCommand(word: string): string | undefined {
  return nearest(word, Object.keys(commandSpecs))
}

/** The error of a target that is nowhere: where its name is near that of a command, the hint asks for that first. */
export function withMeantCommand(error: unknown, target: string): unknown {
  const isAbout = isBatonError(error) && error.code === 'AGENT_NOT_FOUND' && error.message.includes(`"${target}"`)
  const meant = isAbout ? meantCommand(target) : undefined
  if (!isAbout || meant === undefined) return error
  return rewordError(error, { hint: `Did you mean baton ${meant}? ${error.hint ?? ''}`.trimEnd() })
}
