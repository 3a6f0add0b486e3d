import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What was typed into chats, over all sessions. */
export interface TypedHistory {
  /** The newest last. */
  readonly lines: () => readonly string[]
  /** A line that begins with a space is not kept, and neither is one that was typed just before. */
  readonly add: (text: string) => void
}

const most = 1000
/** A longer text is a document and no line to be typed again. */
const longest = 20_000

/**
 * Keeps it in a file that only the owner may read, one JSON text in a line. Where it cannot be written it lasts as long as the
 * process.
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
        // it is a convenience
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
