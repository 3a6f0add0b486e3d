import type { PluginFunction, PluginTool } from '../../event/plugin-tool.ts'
import type { ExecutionMode } from '../modes/mode.ts'

export type { PluginFunction, PluginTool } from '../../event/plugin-tool.ts'

/** The default export of a plug-in module. */
export interface Plugin {
  /** For messages; must be unique. */
  readonly id: string
  /**
   * Registers modes, tools and functions. It is called before anything is paid for, and may be called more than once.
   */
  setup(services: PluginServices): void | Promise<void>
  /**
   * Returns context for the model about a prompt, as text; called once for each. Undefined or empty:
   * nothing.
   */
  prepare?(prompt: PreparedPrompt): string | undefined | Promise<string | undefined>
}

interface PluginServices {
  readonly modes: { register(mode: ExecutionMode): void }
  readonly tools: { register(tool: PluginTool): void }
  /** Functions for programs that models write. */
  readonly functions: { register(added: PluginFunction): void }
}

interface PreparedPrompt {
  /** The user's text. */
  readonly input: string
  readonly mode: string
  readonly userId: string
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
}

/** Everything that the plug-ins of a run registered. */
export interface Plugins {
  /** In the order in which the plug-ins were loaded. */
  readonly ids: readonly string[]
  readonly modes: readonly ExecutionMode[]
  readonly tools: readonly PluginTool[]
  readonly functions: readonly PluginFunction[]
  /** The plug-ins with a `prepare`. */
  readonly preparing: readonly (Required<Pick<Plugin, 'prepare'>> & Pick<Plugin, 'id'>)[]
}

export const noPlugins: Plugins = { ids: [], modes: [], tools: [], functions: [], preparing: [] }
