import type { JsonObject } from '../../../base/json.ts'
import { parseDuration } from '../../../config/duration.ts'
import { type Program, type ProgramLimits, usualLimits } from '../../../script/javascript/program.ts'

/** The limits of programs that `[code]` names. */
export function limitsOf({ timeout, memory_mb: memoryMb }: JsonObject): ProgramLimits {
  const timeMs = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  return {
    ...usualLimits,
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(typeof memoryMb === 'number' ? { memoryMb } : {}),
  }
}

/** How programs are read, where `[code]` says so. */
export function evalTypeOf({ eval_type: evalType }: JsonObject): Pick<Program, 'evalType'> {
  return evalType === 'global' || evalType === 'module' ? { evalType } : {}
}
