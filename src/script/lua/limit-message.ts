import type { LuaErrorDetails, LuaLimits } from '../engine.ts'

/** What the error of a script says that a limit has ended. */
export function limitMessage(limit: LuaErrorDetails['limit'], limits: LuaLimits): string {
  switch (limit) {
    case 'time':
      return `the script ran longer than ${limits.timeMs} ms`
    case 'instructions':
      return `the script ran more than ${limits.instructions} thousand instructions`
    case 'memory':
      return `the script needs more than ${limits.memoryBytes} bytes of memory`
    case undefined:
      return 'the script was stopped'
  }
}
