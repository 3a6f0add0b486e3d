import { cutText } from '../base/cut-text.ts'
import { defined } from '../base/json.ts'
import { harmless } from '../base/terminal-text.ts'
import type { McpProgress } from '../event/mcp.ts'

/** Tells how far a call is. Nothing is told after `end`. */
interface ProgressTeller {
  readonly tell: (progress: McpProgress) => void
  /** The call has ended: what was held back is told. */
  readonly end: () => void
}

/** Between two, in milliseconds: servers tell of each of a hundred thousand files. */
const leastMs = 250
/** Characters of a message that are looked at, and that are told. */
const mostRead = 2_000
const mostTold = 200

/**
 * What a server says of its progress, four times a second at most and always the last of it. Messages are one line without
 * control characters; what says nothing is left out.
 */
export function createProgressTeller(send: (progress: McpProgress) => void): ProgressTeller {
  let timer: NodeJS.Timeout | undefined
  let held: McpProgress | undefined

  /** Tells what is held, and waits before the next one. */
  function next(): void {
    timer = undefined
    if (held === undefined) return
    const progress = held
    held = undefined
    timer = setTimeout(next, leastMs)
    timer.unref()
    send(readable(progress))
  }

  return {
    tell(progress) {
      if (!Number.isFinite(progress.done)) return
      held = progress
      if (timer === undefined) next()
    },
    end() {
      clearTimeout(timer)
      if (held !== undefined) send(readable(held))
      held = undefined
    },
  }
}

function readable({ done, total, message = '' }: McpProgress): McpProgress {
  const line = harmless(message.slice(0, mostRead)).replaceAll(/\s+/g, ' ').trim()
  return {
    done,
    ...defined({
      total: total !== undefined && Number.isFinite(total) ? total : undefined,
      message: line === '' ? undefined : cutText(line, mostTold),
    }),
  }
}
