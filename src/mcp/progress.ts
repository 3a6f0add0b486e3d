import { cutText } from '../base/cut-text.ts'
import { defined } from '../base/json.ts'
import { harmless } from '../base/terminal-text.ts'
import type { McpProgress } from '../event/mcp.ts'

/** Reports the progress of a call. Nothing is reported after `end`. */
interface ProgressTeller {
  readonly tell: (progress: McpProgress) => void
  /** The call has ended: reports what was held back. */
  readonly end: () => void
}

/** Between two reports, in milliseconds: some servers report each of a hundred thousand files. */
const leastMs = 250
/** Characters of a message that are read, and that are reported. */
const mostRead = 2_000
const mostReported = 200

/**
 * Throttles a server's progress to four reports a second; the last one is always sent. Messages are reduced to one line
 * without control characters, and empty ones are dropped.
 */
export function createProgressThrottle(send: (progress: McpProgress) => void): ProgressTeller {
  let timer: NodeJS.Timeout | undefined
  let held: McpProgress | undefined

  /** Sends the held report, and waits before the next one. */
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
      message: line === '' ? undefined : cutText(line, mostReported),
    }),
  }
}
