import type { JsonObject } from '../../../base/json.ts'
import { parseDuration } from '../../../config/duration.ts'
import { type Program, type ProgramLimits, usualLimits } from '../../../script/javascript/program.ts'

/** The program limits in `[code]`. */
export function limitsOf({ timeout, memory_mb: memoryMb }: JsonObject): ProgramLimits {
  const timeMs = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  return {
    ...usualLimits,
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(typeof memoryMb === 'number' ? { memoryMb } : {}),
  }
}

/** How programs are parsed, if `[code]` sets it. */
export function evalTypeOf({ eval_type: evalType }: JsonObject): Pick<Program, 'evalType'> {
  return evalType === 'global' || evalType === 'module' ? { evalType } : {}
}
