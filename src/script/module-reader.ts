import { statSync } from 'node:fs'
import { join } from 'node:path'
import { displayPath, isInside, readSourceFile, realPath } from '../base/files.ts'
import type { RunContext } from '../event/context.ts'
import type { Place } from '../event/effects.ts'
import { guard } from '../tool/guard.ts'

/** A Lua module that was found. Plain JSON: it is recorded. */
export type LuaModule = {
  /** Absolute path. */
  readonly file: string
  readonly text: string
}

/**
 * Finds the module a script names in the `lua` folders of `folders`, the first hit wins. What it gives stays the same
 * within one round of the run.
 * @throws BatonError FILE_UNREADABLE, OUTSIDE_WORKSPACE
 */
export type ModuleReader = (name: string, folders: readonly string[], context: RunContext) => LuaModule | undefined

/**
 * A reader for one run (spec/aipack.md 3.7). Each module is one observation of the run, not of the section that happens
 * to ask first, so that a resumed run executes the same text wherever it goes on.
 */
export function createModuleReader(): ModuleReader {
  const known = new Map<string, LuaModule | null>()
  return (name, folders, context) => {
    const shown = folders.map((folder) => displayPath(context.workspace, folder))
    const at = [...roundOf(context.at), 'module', ...shown, name]
    const key = JSON.stringify(at)
    let module = known.get(key)
    if (module === undefined) {
      const call = { name: 'require', args: [name, ...shown] }
      module = context.effects.observe<LuaModule | null>(at, call, () => readModule(name, folders, context))
      known.set(key, module)
      noteModule(moduleFiles(name, folders), module, context)
    }
    return module ?? undefined
  }
}

/** The files a module name may mean: `lua/?.lua`, then `lua/?/init.lua`, where dots stand for folders. */
export function moduleFiles(name: string, folders: readonly string[]): readonly string[] {
  const path = name.replaceAll('.', '/')
  return folders.flatMap((folder) => [join(folder, 'lua', `${path}.lua`), join(folder, 'lua', path, 'init.lua')])
}

/** The files that were looked for as well: once there, they come first. */
function noteModule(files: readonly string[], module: LuaModule | null, { reads }: RunContext): void {
  if (reads === undefined) return
  const last = files.findIndex((file) => file === module?.file)
  for (const file of last === -1 ? files : files.slice(0, last)) reads.file(file)
  if (module !== null) reads.file(module.file, module.text)
}

/** A redo reads everything anew (DESIGN 2 "Nesting"). */
function roundOf([first, round]: Place): Place {
  return first === 'redo' && round !== undefined ? [first, round] : []
}

/** Modules are code of the agent: they may lie wherever it does; where links lead further, it must be allowed to read. */
function readModule(name: string, folders: readonly string[], context: RunContext): LuaModule | null {
  const file = moduleFiles(name, folders).find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  if (file === undefined) return null
  const isBeside = folders.some((folder) => isInside(realPath(folder), realPath(file)))
  if (!isBeside) guard('read', file, context)
  return { file, text: readSourceFile(file) }
}
