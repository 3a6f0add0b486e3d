import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SecretMask } from '../../journal/secrets.ts'

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
 * Keeps the history in a file that only the owner may read, one JSON string per line, with secrets masked: they can be
 * typed again as long as the process lasts. If the file cannot be written, the same holds for the history.
 */
export function openTypedHistory(file: string, { hide }: Pick<SecretMask, 'hide'>): TypedHistory {
  let lines = readLines(file, hide)
  return {
    lines: () => lines,
    add(text) {
      if (text.trim() === '' || text.startsWith(' ') || text.length > longest || text === lines.at(-1)) return
      lines = [...lines, text].slice(-most)
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        appendFileSync(file, `${JSON.stringify(hide(text))}\n`, { mode: 0o600 })
      } catch {
        // best effort: the history is a convenience
      }
    },
  }
}

/** Secrets that an earlier version wrote, or that were not known to be secret, are masked in the file. */
function readLines(file: string, hide: (text: string) => string): readonly string[] {
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
    const hidden = lines.map(hide)
    if (written.length > 2 * most || hidden.some((line, at) => line !== lines[at]))
      writeFileSync(
        file,
        hidden
          .slice(-most)
          .map((text) => `${JSON.stringify(text)}\n`)
          .join(''),
        { mode: 0o600 },
      )
    return hidden.slice(-most)
  } catch {
    return []
  }
}
