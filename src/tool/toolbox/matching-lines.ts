import { readSlices } from '../workspace-reads.ts'
import type { ToolCall } from './kind.ts'
import { createLineReader } from './line-reader.ts'
import { toolPath } from './paths.ts'
import type { FileMatches } from './search-files.ts'

interface Showing {
  /** Context lines to show around each match. */
  readonly before: number
  readonly after: number
  readonly call: ToolCall
}

const mostLineCharacters = 500

/** The matching lines with their context, below the names of their files. */
export async function showLines(found: readonly FileMatches[], showing: Showing): Promise<readonly string[]> {
  const shown: string[] = []
  for (const { file, lines } of found) {
    if (lines.length === 0) continue
    if (shown.length > 0) shown.push('')
    shown.push(toolPath(file, showing.call.box), ...(await linesOf(file, lines, showing)))
  }
  return shown
}

/** Gaps between lines are marked the way grep does. */
async function linesOf(
  file: string,
  matching: readonly number[],
  { before, after, call }: Showing,
): Promise<readonly string[]> {
  const matches = new Set(matching)
  const wanted = new Set(
    matching.flatMap((line) => Array.from({ length: before + after + 1 }, (_, at) => line - before + at)),
  )
  const last = Math.max(...wanted)
  const shown: string[] = []
  let previous = 0
  const reader = createLineReader({
    characters: mostLineCharacters,
    isWanted: (line) => wanted.has(line),
    onLine(line, { text }) {
      if (previous > 0 && line > previous + 1) shown.push('--')
      previous = line
      shown.push(`${line}${matches.has(line) ? ':' : '-'}${text}`)
    },
  })
  const take = (piece: Uint8Array): boolean => {
    reader.take(piece)
    return reader.count() < last
  }
  await readSlices(file, take, call.context)
  reader.finish()
  return shown
}
