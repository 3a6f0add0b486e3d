import type { LuaThread, StringAccount } from './api.ts'
import type { Core } from './core.ts'
import { raiseLimit, reachLimit } from './hook.ts'
import { isMemoryShort } from './memory.ts'

/** Bytes of strings a state may make before memory is looked at. */
const lookEvery = 32 * 1024 * 1024

/**
 * What there is of a memory limit. Lua's values are objects of this process, which cannot be counted per state. A script
 * ends when it makes one string longer than the limit, and when memory gets short (memory.ts).
 */
export function createAccount(core: Core): StringAccount {
  const longest = core.options.limits.memoryBytes
  const account: StringAccount = {
    longest,
    remaining: lookEvery,
    check(thread, length) {
      account.remaining = lookEvery
      if (length <= longest && !isMemoryShort(core)) return
      exceed(core, thread)
    },
  }
  return account
}

function exceed(core: Core, thread: LuaThread): void {
  if (core.limit === undefined) reachLimit(core, thread, 'memory')
  // outside of Lua code nothing could catch it; the run ends when it is entered
  if (core.depth > 0) raiseLimit(core, thread)
}
