import type { Settings } from '../config/settings.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'
import { type AgentFile, resolveAgent } from '../pack/resolve.ts'
import type { PromptTarget } from './prompt-target.ts'

/** An agent that is run by itself. */
export interface AgentTarget {
  readonly kind: 'agent'
  readonly agent: AgentFile
  readonly workspace: string
  readonly settings: Settings
  readonly agentSettings: Settings
  readonly agents: readonly AgentFile[]
}

/** What a run was asked to run, read and checked: nothing has been executed yet. */
export type Target = PromptTarget | AgentTarget

export interface TargetOptions extends ConfigOptions {
  readonly file: string
  readonly builtInDir: string
}

/**
 * Reads the file, its config and all agents it names. What only prompt files need (schemas, TOML) is loaded for them.
 * @throws BatonError for everything that is wrong before a run can start (exit codes 2 and 6)
 */
export async function loadTarget(options: TargetOptions): Promise<Target> {
  if (/\.(?:aip|lua)$/.test(options.file)) return loadAgentTarget(options)
  const { loadPromptTarget } = await import('./prompt-target.ts')
  return loadPromptTarget(options)
}

async function loadAgentTarget(options: TargetOptions): Promise<AgentTarget> {
  const { workspace, settings } = await loadTargetConfig(options)
  const agent = resolveAgent(options.file, { baseDir: options.cwd, builtInDir: options.builtInDir })
  return { kind: 'agent', agent, workspace, settings, agentSettings: settings, agents: [agent] }
}
