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
import { type AgentFile, type PromptFile, resolveAgent } from '../pack/resolve.ts'
import type { ChainAgent } from '../stage/chain.ts'
import { asChild, childTargetOptions } from './child-target.ts'
import { checkInstruction } from './instruction.ts'
import { loadOutputSchema, type OutputSchema } from './output-schema.ts'
import { type AgentLookup, findPromptAgents, type FoundAgent } from './prompt-agents.ts'
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
  /** Answers in place of the built-in main agent. */
  readonly answerAgent: FoundAgent | undefined
  /** What `[output]` says the answer must be. */
  readonly output: OutputSchema | undefined
  /** Every agent the file names, and those that its prompt files name, for the journal. */
  readonly agents: readonly AgentFile[]
}

/**
 * Reads a prompt file, its config, the agents it names, and its output schema.
 * @param callers absolute paths of the prompt files that name this one, outermost first
 * @throws BatonError for everything that is wrong before a run can start (exit codes 2 and 6)
 */
export async function loadPromptTarget(options: TargetOptions, callers: readonly string[] = []): Promise<PromptTarget> {
  const spec = await loadRunSpec(options)
  const { workspace, settings } = spec
  const roots = packRoots(workspace, options)
  const find = async (name: string): Promise<FoundAgent> => {
    const { builtInDir } = options
    const agent = resolveAgent(name, { baseDir: baseOf(name, spec), builtInDir, packRoots: roots })
    return { ...agent, merge: await defaultMerge(agent) }
  }
  const placeOf = (path: DataPath): Promise<SourcePlace> => placeInPrompt(spec, path)
  const load: AgentLookup['load'] = (agent, given, above) => loadNamedPrompt(agent, { options, given, callers: above })
  const { byName, answerAgent, all } = await findPromptAgents(spec, { find, callers, load })
  const output = await outputOf(spec, placeOf)
  if (settings.template) await checkInstruction(spec.document)
  return {
    kind: 'prompt',
    spec,
    workspace,
    settings,
    configSettings: settingsOf(mergeLayers(spec.layers.below).values, { workspace }),
    packRoots: roots,
    agentSettings: settingsFor({ ...spec, layers: { ...spec.layers, above: [] } }, spec.params),
    settingsFor: (params) => settingsFor(spec, params),
    placeOf,
    findAgent: ({ name }) => byName.get(name) ?? find(name),
    answerAgent,
    output,
    agents: all,
  }
}

interface NamedPrompt {
  readonly options: TargetOptions
  /** Options of the entry that names it. */
  readonly given: JsonObject
  readonly callers: readonly string[]
}

async function loadNamedPrompt(
  agent: PromptFile,
  { options, given, callers }: NamedPrompt,
): Promise<readonly AgentFile[]> {
  const target = await loadPromptTarget(childTargetOptions(agent.file, options), callers)
  asChild(target, agent, { options: given, mayWrite: true })
  return target.agents
}

async function outputOf(spec: RunSpec, placeOf: PromptTarget['placeOf']): Promise<OutputSchema | undefined> {
  const { settings, promptDir: dir, workspace } = spec
  const schema = settings.output?.schema
  if (schema === undefined) return undefined
  if (settings.write_mode) {
    throw new BatonError('CONFIG_INVALID', '"output" and write_mode = true do not go together', {
      place: await placeOf(['output']),
      hint: 'An answer either fits a schema or changes files: remove one of them.',
    })
  }
  return loadOutputSchema({ schema, dir, workspace }, placeOf)
}

/** Names are relative to the workspace; `./x` and `../x` to the prompt file. */
function baseOf(name: string, { workspace, promptDir }: RunSpec): string {
  return /^\.\.?\//.test(name) ? resolve(promptDir) : workspace
}
