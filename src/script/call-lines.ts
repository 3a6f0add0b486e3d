import type { SourcePlace } from '../base/error.ts'
import type { LuaError } from './engine.ts'

/** A file that was loaded as a chunk. */
interface ChunkFile {
  readonly file: string
  readonly text: string
}

/** Lua's own traceback leaves out the middle of deep recursion; so many lines of it are enough. */
const most = 20

/**
 * The lines of files that an uncaught error came through, innermost first and each once in a row: those of Lua's
 * traceback whose chunk `fileOf` knows.
 */
export function callLines(
  { traceback = '' }: Pick<LuaError, 'traceback'>,
  fileOf: (chunk: string) => ChunkFile | undefined,
): readonly SourcePlace[] {
  const lines = [...traceback.matchAll(/^\t(.+?):(\d+): in /gm)].flatMap(([, chunk = '', line]): SourcePlace[] => {
    const source = fileOf(chunk)
    return source === undefined ? [] : [{ file: source.file, line: Number(line), text: source.text }]
  })
  return lines.filter((place, index) => !isSameLine(place, lines[index - 1])).slice(0, most)
}

/** True when both are the same line of one file. */
export function isSameLine(left: SourcePlace, right: SourcePlace | undefined): boolean {
  return right !== undefined && left.file === right.file && left.line === right.line
}
