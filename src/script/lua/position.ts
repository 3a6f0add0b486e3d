import type { ChunkNames } from './names.ts'

/** Frames that are looked at for the position of an error. */
export const deepestFrame = 50

/** A line of a chunk, by the name the chunk was given. */
export interface Position {
  readonly chunk: string
  readonly line: number
}

/** A Lua function on the stack of a thread. */
export interface Frame extends Position {
  /** The chunk as Lua shows it. */
  readonly source: string
}

/** The line of the innermost frame. */
export function innermost([frame]: readonly Frame[]): Position | undefined {
  return frame === undefined ? undefined : { chunk: frame.chunk, line: frame.line }
}

/** Lua's traceback for people: given names, and without the frames of the prelude, which has no line information. */
export function cleanTraceback(names: ChunkNames, text: string): string {
  const lines = text.split('\n').filter((line) => !line.startsWith('\t?: in '))
  return names.restore(lines.join('\n'))
}

interface Split {
  readonly message: string
  readonly position: Partial<Position>
}

/** Takes `chunk:line:` off the front of a message; without one the position is the line that raised the error. */
export function splitPosition(names: ChunkNames, text: string, frames: readonly Frame[]): Split {
  const loaded = /^\[string ".*?"\](?=:)/s.exec(text)
  const sources = new Set([...frames.map(({ source }) => source), ...names.aliases(), ...(loaded ?? [])])
  for (const source of [...sources].toSorted((left, right) => right.length - left.length)) {
    if (!text.startsWith(`${source}:`)) continue
    const [prefix, line] = /^(\d+): ?/.exec(text.slice(source.length + 1)) ?? []
    if (prefix === undefined) continue
    const position = { chunk: names.original(source), line: Number(line) }
    return { message: text.slice(source.length + 1 + prefix.length), position }
  }
  return { message: text, position: innermost(frames) ?? {} }
}
