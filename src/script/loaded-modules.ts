import type { SourcePlace } from '../base/error.ts'
import type { LuaError } from './engine.ts'
import type { LuaModule } from './module-reader.ts'

/** Lua cuts longer names in its messages, so modules are loaded under names that fit. */
const longestName = 59

/** The Lua modules one section has loaded, by the name their lines are shown with. */
export interface LoadedModules {
  /** Gives the name to load the module under; `shown` is its path for people. */
  add(shown: string, module: LuaModule): string
  /** The module that was loaded under this name. */
  find(name: string): LuaModule | undefined
  /** Where an error was raised, when that was in one of the modules, and what it says without that place. */
  locate(error: LuaError): { readonly place: SourcePlace; readonly message: string } | undefined
}

/** An empty collection, for one section. */
export function createLoadedModules(): LoadedModules {
  const modules = new Map<string, LuaModule>()
  return {
    add(shown, module) {
      for (let attempt = 0; ; attempt += 1) {
        const name = fittingName(shown, attempt)
        const taken = modules.get(name)
        if (taken !== undefined && taken.file !== module.file) continue
        modules.set(name, module)
        return name
      }
    },
    find: (name) => modules.get(name),
    locate({ message, chunk, line }) {
      const written = /^([^\n]*?):(\d+): ?/.exec(message)
      const named = modules.get(written?.[1] ?? '')
      if (written !== null && named !== undefined) {
        return { place: placeIn(named, Number(written[2])), message: message.slice(written[0].length) }
      }
      const running = modules.get(chunk ?? '')
      return running === undefined ? undefined : { place: placeIn(running, line), message }
    },
  }
}

function placeIn({ file, text }: LuaModule, line: number | undefined): SourcePlace {
  return line === undefined ? { file } : { file, line, text }
}

function fittingName(shown: string, attempt: number): string {
  const suffix = attempt === 0 ? '' : `#${attempt}`
  if (Buffer.byteLength(shown + suffix) <= longestName) return shown + suffix
  // characters outside ASCII are replaced, so that the bytes fit as well
  const tail = shown.slice(-40).replaceAll(/[^\0-\x7F]/g, '_')
  return `...${tail}${suffix}`
}
