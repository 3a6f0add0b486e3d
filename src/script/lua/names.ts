/** Lua cuts chunk names in messages to 59 bytes, so a longer one is loaded under an alias that fits. */
const longestName = 59
const tailLength = 40

/** The names of the chunks of one state, as Lua knows them and as they were given. */
export interface ChunkNames {
  /** The name to load a chunk under. */
  alias(name: string): string
  aliases(): readonly string[]
  /** The given name of a chunk that Lua calls `alias`. */
  original(alias: string): string
  /** Text of Lua (a message, a traceback) with the given names in it. */
  restore(text: string): string
}

export function createChunkNames(): ChunkNames {
  const originals = new Map<string, string>()

  const choose = (name: string): string => {
    for (let attempt = 0; ; attempt++) {
      const candidate = attempt === 0 ? fitting(name) : `${fitting(name)}#${attempt}`
      const owner = originals.get(candidate)
      if (owner === undefined || owner === name) return candidate
    }
  }
  return {
    alias(name) {
      const alias = choose(name)
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

function fitting(name: string): string {
  if (Buffer.byteLength(name) <= longestName) return name
  const tail = name.slice(-tailLength)
  // Characters outside ASCII are replaced, so that the bytes fit as well.
  return `...${Buffer.byteLength(tail) === tail.length ? tail : tail.replaceAll(/[^\0-\x7f]/g, '_')}`
}
