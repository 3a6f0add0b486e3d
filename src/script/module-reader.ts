import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { SourcePlace } from '../base/error.ts'
import { displayPath, isInside, readSourceFile, realPath } from '../base/files.ts'
import type { ContextWith, Gate, RunStore } from '../event/context.ts'
import { item, part, type Place } from '../event/place.ts'
import { type ReadContext, readablePath } from '../tool/guard.ts'
import type { LuaError } from './engine.ts'
import { fittingName } from './lua/positions.ts'

/** What finding a module takes of a run. */
type ModuleContext = ReadContext & ContextWith<'at', Gate & Pick<RunStore, 'reads'>>

/** A Lua module that was found. Plain JSON, because it is recorded. */
type LuaModule = {
  /** Absolute path. */
  readonly file: string
  readonly text: string
}

/**
 * Finds the module that a script names in the `lua` folders of `folders`; the first match is used. The result stays the
 * same within one round of the run.
 * @throws BatonError FILE_UNREADABLE, OUTSIDE_WORKSPACE
 */
export type ModuleReader = (name: string, folders: readonly string[], context: ModuleContext) => LuaModule | undefined

/**
 * A reader for one run. Each module is an observation of the run and not of the first section that requests it, so that
 * a resumed run executes the same text wherever it continues.
 */
export function createModuleReader(): ModuleReader {
  const known = new Map<string, LuaModule | null>()
  return (name, folders, context) => {
    const shown = folders.map((folder) => displayPath(context.scope.folders.workspace, folder))
    const at = [...roundOf(context.scope.at), part('module'), item([...shown, name].join(' '))]
    const key = JSON.stringify(at)
    let module = known.get(key)
    if (module === undefined) {
      const call = { name: 'require', args: [name, ...shown] }
      module = context.services.effects.observe<LuaModule | null>(at, call, () => readModule(name, folders, context))
      known.set(key, module)
      noteModule(moduleFiles(name, folders), module, context)
    }
    return module ?? undefined
  }
}

/** The files that a module name may mean: `lua/?.lua`, then `lua/?/init.lua`; dots stand for folders. */
export function moduleFiles(name: string, folders: readonly string[]): readonly string[] {
  const path = name.replaceAll('.', '/')
  return folders.flatMap((folder) => [join(folder, 'lua', `${path}.lua`), join(folder, 'lua', path, 'init.lua')])
}

/** Includes the files that were tried without success: if one appears later, it takes precedence. */
function noteModule(
  files: readonly string[],
  module: LuaModule | null,
  { services: { reads } }: { readonly services: Pick<RunStore, 'reads'> },
): void {
  if (reads === undefined) return
  const last = files.findIndex((file) => file === module?.file)
  for (const file of last === -1 ? files : files.slice(0, last)) reads.file(file)
  if (module !== null) reads.file(module.file, module.text)
}

/** A redo reads everything again. */
function roundOf([first]: Place): Place {
  return first?.kind === 'redo' ? [first] : []
}

/**
 * Modules are code of the agent, so they may be wherever the agent is; if a link leads elsewhere, the agent must be
 * allowed to read that file.
 */
function readModule(name: string, folders: readonly string[], context: ReadContext): LuaModule | null {
  const file = moduleFiles(name, folders).find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  if (file === undefined) return null
  const isBeside = folders.some((folder) => isInside(realPath(folder), realPath(file)))
  if (!isBeside) readablePath(file, context)
  return { file, text: readSourceFile(file) }
}

/** The Lua modules that one section has loaded, by the name shown with their lines. */
export interface LoadedModules {
  /** Returns the name under which to load the module; `shown` is its path for display. */
  add(shown: string, module: LuaModule): string
  find(name: string): LuaModule | undefined
  /** Where an error was raised, if that was in one of the modules, and its message without that position. */
  locate(error: LuaError): { readonly place: SourcePlace; readonly message: string } | undefined
}

/** An empty collection, for one section. */
export function createLoadedModules(): LoadedModules {
  const modules = new Map<string, LuaModule>()
  return {
    add(shown, module) {
      const name = fittingName(shown, (candidate) => [undefined, module.file].includes(modules.get(candidate)?.file))
      modules.set(name, module)
      return name
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
