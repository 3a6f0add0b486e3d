import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What was typed into chats, across all sessions. */
export interface TypedHistory {
  /** Newest last. */
  readonly lines: () => readonly string[]
  /** Ignores a line that starts with a space or repeats the one before. */
  readonly add: (text: string) => void
}

const most = 1000
/** In characters. A longer text is a document, not a line to type again. */
const longest = 20_000

/**
 * Keeps the history in a file that only the owner may read, one JSON string per line. If the file cannot be written,
 * the history lasts as long as the process.
 */
export function openTypedHistory(file: string): TypedHistory {
  let lines = readLines(file)
  return {
    lines: () => lines,
    add(text) {
      if (text.trim() === '' || text.startsWith(' ') || text.length > longest || text === lines.at(-1)) return
      lines = [...lines, text].slice(-most)
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 })
      } catch {
        // best effort: the history is a convenience
      }
    },
  }
}

function readLines(file: string): readonly string[] {
  try {
    const written = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
    const lines = written.flatMap((line): readonly string[] => {
      try {
        const text: unknown = JSON.parse(line)
        return typeof text === 'string' ? [text] : []
      } catch {
        return []
      }
    })
    if (written.length > 2 * most)
      writeFileSync(
        file,
        lines
          .slice(-most)
          .map((text) => `${JSON.stringify(text)}\n`)
          .join(''),
        { mode: 0o600 },
      )
    return lines.slice(-most)
  } catch {
    return []
  }
}
