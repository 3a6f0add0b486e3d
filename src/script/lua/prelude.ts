import { callbacks } from './callbacks.ts'
import { coroutines } from './coroutines.ts'
import { globals } from './globals.ts'
import { iteration } from './iteration.ts'
import { natives } from './natives.ts'

/**
 * Lua text that every engine runs once in a fresh state, before host functions are installed (spec/lua-engines.md 4.3).
 * It is valid Lua 5.3 and 5.4. What it takes and returns is described in natives.ts. Engines load it without line
 * information, so that errors raised inside name the script's line and tracebacks can leave these frames out.
 */
export const prelude = [natives, globals, iteration, coroutines, callbacks, 'return tostring'].join('\n')
