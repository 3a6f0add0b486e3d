import type { Thread } from './api.ts'
import type { LuaCore } from './core.ts'

/** Lua cuts chunk names in messages to 59 bytes, so a longer name is replaced by one that fits. */
const longestName = 59
const tailLength = 40
/** Number of frames searched for the position of an error. */
const deepestFrame = 50

/** The names of the chunks of one state, as Lua knows them and as the caller gave them. */
export interface ChunkNames {
  /** The name under which to load a chunk. */
  alias(name: string): string
  aliases(): readonly string[]
  /** The original name of a chunk that Lua calls `alias`. */
  original(alias: string): string
  /** Lua text (a message, a traceback) with the original names restored. */
  restore(text: string): string
}

export function createChunkNames(): ChunkNames {
  const originals = new Map<string, string>()
  return {
    alias(name) {
      const alias = fittingName(name, (candidate) => [undefined, name].includes(originals.get(candidate)))
      originals.set(alias, name)
      return alias
    },
    aliases: () => [...originals.keys()],
    original: (alias) => originals.get(alias) ?? alias,
    restore(text) {
      let restored = text
      for (const [alias, name] of originals) {
        if (alias !== name) restored = restored.replaceAll(`${alias}:`, () => `${name}:`)
      }
      return restored
    },
  }
}

/** The first free name for a chunk that Lua does not cut. */
export function fittingName(name: string, isFree: (candidate: string) => boolean): string {
  for (let attempt = 0; ; attempt++) {
    const suffix = attempt === 0 ? '' : `#${attempt}`
    const isShort = Buffer.byteLength(name + suffix) <= longestName
    // characters outside ASCII are replaced, so that the limit in bytes is met as well
    const fitting = isShort ? name : `...${name.slice(-tailLength).replaceAll(/[^\0-\x7f]/g, '_')}`
    if (isFree(fitting + suffix)) return fitting + suffix
  }
}

/** A line of a chunk, by the chunk's original name. */
export interface Position {
  readonly chunk: string
  readonly line: number
}

/** A Lua function on the stack of a thread. */
export interface Frame extends Position {
  /** The chunk name as Lua shows it. */
  readonly source: string
}

/** The Lua functions with line numbers on a thread's stack, innermost first. */
export function framesOf({ api, names }: LuaCore, thread: Thread): readonly Frame[] {
  const frames: Frame[] = []
  for (let level = 0; level < deepestFrame; level++) {
    const frame = api.frameAt(thread, level)
    if (frame === undefined) break
    if (frame.line > 0) frames.push({ ...frame, chunk: names.original(frame.source) })
  }
  return frames
}

/** The thread's current line, if it runs Lua code. */
export function positionOf(core: LuaCore, thread: Thread): Position | undefined {
  return innermost(framesOf(core, thread))
}

function innermost([frame]: readonly Frame[]): Position | undefined {
  return frame === undefined ? undefined : { chunk: frame.chunk, line: frame.line }
}

/**
 * Lua's traceback for display: with original names and without the frames of the prelude, which has no line
 * information. It is built on the main stack: the thread may have failed because its own is full.
 */
export function tracebackOf({ api, main, names }: LuaCore, thread: Thread): string {
  api.lua_checkstack(main, 20)
  api.pushTraceback(main, thread)
  const text = api.readMessage(main, -1)
  api.lua_settop(main, -2)
  const lines = text.split('\n').filter((line) => !line.startsWith('\t?: in '))
  return names.restore(lines.join('\n'))
}

/** Splits `chunk:line:` off a message; without that prefix the position is the line that raised the error. */
export function splitPosition(
  names: ChunkNames,
  text: string,
  frames: readonly Frame[],
): { readonly message: string; readonly position: Partial<Position> } {
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
