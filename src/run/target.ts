import { resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import { loadRunSpec, placeInPrompt, type RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'
import { type AgentFile, resolveAgent } from '../pack/resolve.ts'

/** What a run was asked to run, read and checked: nothing has been executed yet. */
export type Target =
  | {
      readonly kind: 'prompt'
      readonly spec: RunSpec
      readonly workspace: string
      readonly settings: Settings
      readonly findAgent: (config: AgentConfig) => AgentFile
      /** Every agent the file names, for the journal. */
      readonly agents: readonly AgentFile[]
    }
  | {
      readonly kind: 'agent'
      readonly agent: AgentFile
      readonly workspace: string
      readonly settings: Settings
      readonly agents: readonly AgentFile[]
    }

export interface TargetOptions extends ConfigOptions {
  readonly file: string
  readonly builtInDir: string
}

/**
 * Reads the file, its config and all agents it names.
 * @throws BatonError for everything that is wrong before a run can start (exit codes 2 and 6)
 */
export async function loadTarget(options: TargetOptions): Promise<Target> {
  return /\.(?:aip|lua)$/.test(options.file) ? loadAgentTarget(options) : loadPromptTarget(options)
}

async function loadAgentTarget(options: TargetOptions): Promise<Target> {
  const { workspace, settings } = await loadTargetConfig(options)
  const agent = resolveAgent(options.file, { baseDir: options.cwd, builtInDir: options.builtInDir })
  return { kind: 'agent', agent, workspace, settings, agents: [agent] }
}

async function loadPromptTarget(options: TargetOptions): Promise<Target> {
  const spec = await loadRunSpec(options)
  const { workspace, settings } = spec
  const agents = new Map<string, AgentFile>()
  for (const config of spec.agents.filter(({ enabled }) => enabled)) {
    if (!agents.has(config.name)) agents.set(config.name, await findWritten(config, spec, options))
  }
  return {
    kind: 'prompt',
    spec,
    workspace,
    settings,
    agents: [...agents.values()],
    findAgent: (config) =>
      agents.get(config.name) ??
      resolveAgent(config.name, { ...baseOf(config.name, spec), builtInDir: options.builtInDir }),
  }
}

async function findWritten(config: AgentConfig, spec: RunSpec, { builtInDir }: TargetOptions): Promise<AgentFile> {
  try {
    return resolveAgent(config.name, { ...baseOf(config.name, spec), builtInDir })
  } catch (error) {
    if (!(error instanceof BatonError) || error.place !== undefined) throw error
    const place = await placeInPrompt(spec, ['sub_agents', config.index])
    throw new BatonError(error.code, error.message, {
      place,
      cause: error,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    })
  }
}

/** Names are relative to the workspace; `./x` and `../x` to the prompt file. */
function baseOf(name: string, { workspace, promptDir }: RunSpec): { readonly baseDir: string } {
  return { baseDir: /^\.\.?\//.test(name) ? resolve(promptDir) : workspace }
}
