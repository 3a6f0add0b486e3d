import type { PluginFunction, PluginTool } from '../../event/plugin-tool.ts'
import type { ExecutionMode } from '../modes/mode.ts'

export type { PluginFunction, PluginTool } from '../../event/plugin-tool.ts'

/** What the default export of a plug-in module is. */
export interface Plugin {
  /** For messages; no two plug-ins have the same. */
  readonly id: string
  /** Registers what it brings. It is called before anything is paid, and may be called more than once. */
  setup(services: PluginServices): void | Promise<void>
  /** What a model should know for a prompt, as text; called once for each (R173, R190). Undefined or empty: nothing. */
  prepare?(prompt: PreparedPrompt): string | undefined | Promise<string | undefined>
}

interface PluginServices {
  readonly modes: { register(mode: ExecutionMode): void }
  readonly tools: { register(tool: PluginTool): void }
  /** Functions of the programs that models write. */
  readonly functions: { register(added: PluginFunction): void }
}

interface PreparedPrompt {
  /** What the person says. */
  readonly input: string
  readonly mode: string
  readonly userId: string
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
}

/** What the plug-ins of a run bring. */
export interface Plugins {
  /** Of the plug-ins, in the order in which they were loaded. */
  readonly ids: readonly string[]
  readonly modes: readonly ExecutionMode[]
  readonly tools: readonly PluginTool[]
  readonly functions: readonly PluginFunction[]
  /** Those that add to the messages. */
  readonly preparing: readonly (Required<Pick<Plugin, 'prepare'>> & Pick<Plugin, 'id'>)[]
}

export const noPlugins: Plugins = { ids: [], modes: [], tools: [], functions: [], preparing: [] }
