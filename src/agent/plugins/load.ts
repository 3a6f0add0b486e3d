import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { BatonError, messageOf } from '../../base/error.ts'
import { sha256 } from '../../base/hash.ts'
import { isJsonObject, isObject, type Json } from '../../base/json.ts'
import type { ReadLog } from '../../base/reads.ts'
import { isFreeName } from '../../script/javascript/tool-functions.ts'
import { toolNames } from '../../tool/toolbox/rows.ts'
import { reservedNames } from '../modes/code/built-ins.ts'
import type { PluginFunction } from '../../event/plugin-tool.ts'
import type { ExecutionMode } from '../modes/mode.ts'
import { noPlugins, type Plugin, type Plugins, type PluginTool } from './plugin.ts'

/**
 * Loads plug-ins from absolute module paths and lets each register its modes, tools and functions. `reads` gets the
 * current content of the files: a changed module is loaded anew.
 * @throws BatonError CONFIG_INVALID for a plug-in that cannot be loaded, is invalid, or throws in its setup
 */
export async function loadPlugins(files: readonly string[] = [], reads?: ReadLog): Promise<Plugins> {
  if (files.length === 0) return noPlugins
  const modes = new Map<string, ExecutionMode>()
  const tools = new Map<string, PluginTool>()
  const functions = new Map<string, PluginFunction>()
  const preparing: Plugins['preparing'][number][] = []
  const ids = new Map<string, string>()
  for (const file of files) {
    const plugin = await importPlugin(file, reads)
    const { id } = plugin
    const other = ids.get(id)
    if (other !== undefined && other !== file) throw failed(file, `its id "${id}" is also used by ${other}`)
    ids.set(id, file)
    try {
      await plugin.setup({
        modes: { register: (mode) => void modes.set(checkedMode(mode).id, mode) },
        tools: { register: (tool) => void tools.set(checkedTool(tool, tools).name, tool) },
        functions: { register: (added) => void functions.set(checkedFunction(added, functions).name, added) },
      })
    } catch (error) {
      throw failed(file, `its setup failed: ${messageOf(error)}`, error)
    }
    if (plugin.prepare !== undefined) preparing.push({ id, prepare: (prompt) => plugin.prepare?.(prompt) })
  }
  return {
    ids: [...ids.keys()],
    modes: [...modes.values()],
    tools: [...tools.values()],
    functions: [...functions.values()],
    preparing,
  }
}

/** The current module: if the file has changed since it was loaded, a new one. */
async function importPlugin(file: string, reads: ReadLog | undefined): Promise<Plugin> {
  let module: unknown
  try {
    const text = readFileSync(file, 'utf8')
    const version = sha256(text).slice(0, 16)
    reads?.sources?.found(file, { kind: 'file', text }, 'module')
    module = await import(/* @vite-ignore */ `${pathToFileURL(file).href}?v=${version}`)
  } catch (error) {
    throw failed(file, `it cannot be loaded: ${messageOf(error)}`, error)
  }
  const plugin = (module as { readonly default?: unknown }).default
  if (!isObject(plugin)) throw failed(file, 'it has no default export { id, setup(services) }')
  const { id, setup, prepare } = plugin as { readonly [key: string]: unknown }
  if (typeof id !== 'string' || id === '') throw failed(file, 'its default export has no id')
  if (typeof setup !== 'function') throw failed(file, 'its default export has no function setup(services)')
  if (prepare !== undefined && typeof prepare !== 'function') throw failed(file, 'its prepare is not a function')
  return plugin as unknown as Plugin
}

function failed(file: string, problem: string, cause?: unknown): BatonError {
  return new BatonError('CONFIG_INVALID', `the plug-in ${file} cannot be used: ${problem}`, {
    hint: 'Fix it, or remove it from plugins in your config file. docs/plugins.md has an example.',
    cause,
  })
}

function checkedMode(mode: ExecutionMode): ExecutionMode {
  const { id, name } = mode
  if (typeof id !== 'string' || id === '') throw new Error('a mode needs an id')
  if (typeof name !== 'string') throw new Error(`the mode "${id}" needs a name`)
  if (typeof mode.createExecutor !== 'function')
    throw new Error(`the mode "${id}" needs a function createExecutor(options)`)
  return mode
}

function checkedTool(tool: PluginTool, known: ReadonlyMap<string, PluginTool>): PluginTool {
  const { name, description, parameters } = tool
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw new Error('a tool needs a name of at most 64 letters, digits, _ and -')
  }
  if ((toolNames as readonly string[]).includes(name)) throw new Error(`a tool "${name}" already exists`)
  if (known.has(name)) throw new Error(`two tools are named "${name}"`)
  if (name.includes('__'))
    throw new Error(`the tool "${name}" cannot have __ in its name: __ joins the names of a server and its tool`)
  if (typeof description !== 'string') throw new Error(`the tool "${name}" needs a description`)
  if (!isJsonObject(parameters as Json)) throw new Error(`the tool "${name}" needs parameters, a JSON Schema`)
  if (typeof tool.run !== 'function') throw new Error(`the tool "${name}" needs a function run(input, call)`)
  return tool
}

function checkedFunction(added: PluginFunction, known: ReadonlyMap<string, PluginFunction>): PluginFunction {
  const { name, description } = added
  if (typeof name !== 'string') throw new Error('a function needs a name')
  if (reservedNames([]).includes(name)) throw new Error(`programs already have a function "${name}"`)
  if (!isFreeName(name)) {
    throw new Error(`a function cannot be named "${name}": the name must be an identifier that programs do not use yet`)
  }
  if (known.has(name)) throw new Error(`two functions are named "${name}"`)
  if (typeof description !== 'string') throw new Error(`the function "${name}" needs a description`)
  if (typeof added.run !== 'function') throw new Error(`the function "${name}" needs a function run(...args)`)
  return added
}
