import { pickAgentOptions } from '../config/agent-options.ts'
import { issueText } from '../config/issue.ts'
import type { JsonObject } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'
import { packRoots } from '../pack/places.ts'
import { type AgentFile, type ScriptFile, resolveAgent } from '../pack/resolve.ts'
import type { PromptTarget } from './prompt-target.ts'
import { targetKind } from './target-kind.ts'

/** An agent that is run by itself. */
export interface AgentTarget {
  readonly kind: 'agent'
  readonly agent: ScriptFile
  /** Reads the agent again: a redo runs what is on the disk then. */
  readonly reload: () => ScriptFile
  readonly workspace: string
  readonly settings: Settings
  /** What the agent's own options are merged over: config files alone. */
  readonly agentSettings: Settings
  readonly configSettings: Settings
  /** Options from the environment and from flags: they win over the agent's own (DESIGN 3). */
  readonly flagOptions: JsonObject
  /** What `baton check` says and a run does not. */
  readonly notes: readonly string[]
  readonly packRoots: readonly string[]
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
  if (targetKind(options.file, options) === 'agent') return loadAgentTarget(options)
  return loadPrompt(options)
}

async function loadAgentTarget(options: TargetOptions): Promise<Target> {
  const { workspace, settings, configSettings, flagValues, notes } = await loadTargetConfig(options)
  const roots = packRoots(workspace, options)
  const { cwd, builtInDir, file } = options
  const find = (): AgentFile => resolveAgent(file, { baseDir: cwd, builtInDir, packRoots: roots })
  const agent = find()
  // packs may hold prompt files too
  if (agent.kind === 'prompt') return loadPrompt({ ...options, file: agent.file })
  return {
    kind: 'agent',
    agent,
    reload() {
      const again = find()
      return again.kind === 'prompt' ? agent : again
    },
    workspace,
    settings,
    agentSettings: configSettings,
    configSettings,
    flagOptions: pickAgentOptions(flagValues),
    notes: notes.map(issueText),
    packRoots: roots,
    agents: [agent],
  }
}

async function loadPrompt(options: TargetOptions): Promise<PromptTarget> {
  const { loadPromptTarget } = await import('./prompt-target.ts')
  return loadPromptTarget(options)
}
