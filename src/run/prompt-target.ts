import { resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import { mergeLayers } from '../config/layers.ts'
import { loadRunSpec, placeInPrompt, type RunSpec, settingsFor } from '../config/run-spec.ts'
import { type Settings, settingsOf } from '../config/settings.ts'
import { defaultMerge } from '../pack/manifest.ts'
import { packRoots } from '../pack/places.ts'
import { type AgentFile, resolveAgent } from '../pack/resolve.ts'
import type { ChainAgent } from '../stage/chain.ts'
import type { TargetOptions } from './target.ts'

/** A prompt file with its config and its agents, read and checked: nothing has been executed yet. */
export interface PromptTarget {
  readonly kind: 'prompt'
  readonly spec: RunSpec
  readonly workspace: string
  readonly settings: Settings
  /** What the file's script agents start from: `-m`, `BATON_MODEL` and `-c` are for the main agent (DESIGN 3). */
  readonly agentSettings: Settings
  /** What agents start from that agents run: config files alone. */
  readonly configSettings: Settings
  readonly packRoots: readonly string[]
  /** Settings with changed params; throws when they are not valid. */
  readonly settingsFor: (params: JsonObject) => Settings
  readonly placeOf: (path: DataPath) => Promise<SourcePlace>
  readonly findAgent: (config: AgentConfig) => ChainAgent | Promise<ChainAgent>
  /** Every agent the file names, for the journal. */
  readonly agents: readonly AgentFile[]
}

/** @throws BatonError for everything that is wrong before a run can start (exit codes 2 and 6) */
export async function loadPromptTarget(options: TargetOptions): Promise<PromptTarget> {
  const spec = await loadRunSpec(options)
  const { workspace, settings } = spec
  const roots = packRoots(workspace, options)
  const find = async (name: string): Promise<FoundAgent> => {
    const { builtInDir } = options
    const agent = resolveAgent(name, { baseDir: baseOf(name, spec), builtInDir, packRoots: roots })
    return { ...agent, merge: await defaultMerge(agent) }
  }
  const agents = new Map<string, FoundAgent>()
  for (const config of spec.agents.filter(({ enabled }) => enabled)) {
    if (!agents.has(config.name)) agents.set(config.name, await findWritten(config, spec, find))
  }
  return {
    kind: 'prompt',
    spec,
    workspace,
    settings,
    configSettings: settingsOf(mergeLayers(spec.layers.below).values, { workspace }),
    packRoots: roots,
    agentSettings: settingsFor({ ...spec, layers: { ...spec.layers, above: [] } }, spec.params),
    settingsFor: (params) => settingsFor(spec, params),
    placeOf: (path) => placeInPrompt(spec, path),
    findAgent: ({ name }) => agents.get(name) ?? find(name),
    agents: [...agents.values()],
  }
}

type FoundAgent = AgentFile & ChainAgent

async function findWritten(
  { name, index }: AgentConfig,
  spec: RunSpec,
  find: (name: string) => Promise<FoundAgent>,
): Promise<FoundAgent> {
  try {
    return await find(name)
  } catch (error) {
    if (!(error instanceof BatonError) || error.place !== undefined) throw error
    const place = await placeInPrompt(spec, ['sub_agents', index])
    throw new BatonError(error.code, error.message, {
      place,
      cause: error,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    })
  }
}

/** Names are relative to the workspace; `./x` and `../x` to the prompt file. */
function baseOf(name: string, { workspace, promptDir }: RunSpec): string {
  return /^\.\.?\//.test(name) ? resolve(promptDir) : workspace
}
