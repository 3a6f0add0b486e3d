import { resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import { mergeLayers } from '../config/layers.ts'
import { loadRunSpec, placeInPrompt, type RunSpec, settingsFor } from '../config/run-spec.ts'
import { type Settings, settingsOf } from '../config/settings.ts'
import type { Message } from '../event/message.ts'
import type { Grant } from '../event/permission.ts'
import { variablesFromFlags } from '../config/input-variables.ts'
import { packRoots } from '../pack/find-pack.ts'
import { type NameGuard, nameGuard } from '../pack/name-guard.ts'
import { defaultMerge } from '../pack/pack-manifest.ts'
import type { NamedFile } from '../pack/resolve.ts'
import type { ChainAgent } from '../stage/chain.ts'
import {
  brokenDefinitions,
  definitionsOfPrompt,
  type FindDefinitions,
  type ResolvedAgent,
  resolveNamed,
  startsAgents,
} from './definitions.ts'
import { asChild, childTargetOptions, childVariables } from './child-target.ts'
import { createSharedCompiler } from './shared-compiler.ts'
import { loadOutputSchema, loadSchemaFlag, type OutputSchema } from './output-schema.ts'
import { type AgentLookup, findPromptAgents, type NamedAgent } from './prompt-agents.ts'
import { withPackServers } from './pack-servers.ts'
import type { RolePlaces } from './roles.ts'
import type { ChatShell } from '../tool/shell/session.ts'
import type { TargetOptions } from './options.ts'
import { nameRules, partRules, refuseProblems } from './file-rules.ts'
import type { LoadedStrategy, StrategyLoading } from './strategy.ts'

/** A prompt file with its config and its agents, read and checked: nothing has been executed yet. */
export interface PromptTarget {
  readonly kind: 'prompt'
  readonly spec: RunSpec
  readonly workspace: string
  readonly settings: Settings
  /** Base options of script agents of the file. `-m` and `BATON_MODEL` name their model if nothing else does. */
  readonly agentSettings: Settings
  /** Base options of agents that agents run: config files and `-c`. */
  readonly configSettings: Settings
  /** `-c` as given, for loading prompt files that are run as agents. */
  readonly overrides: readonly string[]
  readonly packRoots: readonly string[]
  readonly guard: NameGuard
  /** The named agents. */
  readonly definitions: FindDefinitions
  /** Settings with changed params; throws if they are invalid. */
  readonly settingsFor: (params: JsonObject) => Settings
  readonly placeOf: (path: DataPath, part?: 'key' | 'value') => Promise<SourcePlace>
  readonly findAgent: (named: Pick<AgentConfig, 'name'>) => ChainAgent | Promise<ChainAgent>
  readonly answerAgent: ResolvedAgent | undefined
  /** Settings of the agent that answers; default: what the file says about its model. */
  readonly answerOptions?: JsonObject
  /** How the file is worked on, other than by one call of a model. */
  readonly strategy: LoadedStrategy | undefined
  /** The schema of `[output]`, which the answer must match. */
  readonly output: OutputSchema | undefined
  /** An agent definition that is run by itself: the inputs are the messages of the user, its text is for the system. */
  readonly inputsAreMessages?: true
  /** Standard input: context of all tasks. */
  readonly stdin: string | undefined
  /** The values of the `[input]` variables; undefined without that table, or if no values were given yet. */
  readonly vars: JsonObject | undefined
  /** All agents that the file and, recursively, its prompt files name, for the journal. */
  readonly agents: readonly NamedFile[]
  /** The agents and programs that the file starts, as written. */
  readonly starts: readonly NamedAgent[]
  /** Earlier messages of the chat that it is a message of; default: none. */
  readonly said?: readonly Message[]
  /** The shell of that chat; default: each conversation has its own. */
  readonly shell?: ChatShell
  /** What the user has allowed for the rest of the chat; default: nothing. */
  readonly granted?: readonly Grant[]
  /** The roles of `[collab]`; empty without that table. */
  readonly roles: ReadonlyMap<string, AgentDefinition>
}

/**
 * Reads a prompt file, its config, the agents it names, and its output schema.
 * @param callers absolute paths of the prompt files that name this one, outermost first
 * @throws BatonError for everything that prevents a run from starting (exit codes 2 and 6)
 */
export async function loadPromptTarget(options: TargetOptions, callers: readonly string[] = []): Promise<PromptTarget> {
  const read = await withoutMissing(await withPackServers(await loadRunSpec(options), options))
  const definitions = definitionsOfPrompt(read, options)
  // the run keeps them
  const offered = startsAgents(read) ? await definitions() : undefined
  const broken = offered === undefined ? [] : brokenDefinitions(offered)
  const spec = { ...read, warnings: [...read.warnings, ...broken] }
  const { vars: varFlags } = options.flags
  const vars = varFlags === undefined ? undefined : await variablesFromFlags(varFlags, spec.variables, spec.document)
  const { workspace, settings } = spec
  await refuseProblems(nameRules, spec, options)
  const lookup = agentLookup(spec, { ...options, definitions }, callers)
  const { byName, answerAgent, all, starts } = await findPromptAgents(
    spec,
    lookup,
    options.strategies.flatMap(({ agents }) => agents(settings)),
  )
  const output = await loadOutput(spec, options)
  const strategy = await loadStrategy(spec, { ...options, byName })
  const compiler = createSharedCompiler(settings.lua)
  try {
    await refuseProblems(partRules, spec, { output, strategies: options.strategies, compiler: compiler.open })
  } finally {
    await compiler.close()
  }
  const roles = settings.collab === undefined ? noRoles : await rolesOf(spec, { ...options, lookup, definitions })
  const startable = [...(offered?.byName.values() ?? []), ...roles.values()]
  const toolNotes = [
    ...(spec.toolNotes ?? []),
    ...starts.flatMap(({ child }) => child?.spec.toolNotes ?? []),
    ...(startable.some(isForeign) ? await (await import('./named-tools.ts')).missingToolsOf(startable, spec) : []),
  ]
  return {
    kind: 'prompt',
    spec: toolNotes.length === 0 ? spec : { ...spec, toolNotes },
    workspace,
    settings,
    configSettings: settingsOf(mergeLayers([...spec.layers.below, ...spec.layers.shared]).values, { workspace }),
    overrides: options.flags.overrides,
    packRoots: packRoots(workspace, options),
    guard: nameGuard(workspace, options),
    definitions,
    agentSettings: {
      ...defined({ model: settings.model }),
      ...settingsFor({ ...spec, layers: { ...spec.layers, above: spec.layers.shared } })(spec.params),
    },
    settingsFor: settingsFor(spec),
    placeOf: (path, part) => placeInPrompt(spec, path, part),
    findAgent: ({ name }) => byName.get(name) ?? lookup.find(name),
    answerAgent,
    strategy,
    output,
    stdin: options.stdin,
    vars,
    agents: all,
    starts,
    roles,
  }
}

function isForeign({ agent }: AgentDefinition): boolean {
  return agent.defined?.foreignTools !== undefined
}

/** Most files are ours, and load no code for it. */
async function withoutMissing(spec: RunSpec): Promise<RunSpec> {
  return spec.foreignTools === undefined ? spec : (await import('./named-tools.ts')).withoutMissingTools(spec)
}

const noRoles: PromptTarget['roles'] = new Map()

/** @throws BatonError USAGE if the model of the file is not called; the errors of roles */
async function rolesOf(spec: RunSpec, places: RolePlaces): Promise<PromptTarget['roles']> {
  const { agent } = spec.settings
  if (agent !== undefined) {
    throw new BatonError('USAGE', `--collab is for the model of the file, but "${agent}" answers instead of it`, {
      hint: 'Omit --collab, or add [collab] to the file of that agent.',
    })
  }
  return (await import('./roles.ts')).findRoles(spec, places)
}

/** @throws BatonError for files that the table of the strategy names, and for a table that a flag contradicts */
async function loadStrategy(
  spec: RunSpec,
  { strategies, ...options }: StrategyLoading & Pick<TargetOptions, 'strategies'>,
): Promise<LoadedStrategy | undefined> {
  for (const row of strategies) {
    const loaded = await row.load?.(spec, options)
    const isUsed = row.load === undefined ? spec.settings[row.key] !== undefined : loaded !== undefined
    if (isUsed) return { row, loaded }
  }
  return undefined
}

/** How the agents of a prompt file are found and loaded. */
export function agentLookup(
  spec: RunSpec,
  options: TargetOptions & { readonly definitions: FindDefinitions },
  callers: readonly string[],
): AgentLookup {
  const { builtInDir, reads, definitions } = options
  const roots = packRoots(spec.workspace, options)
  const guard = nameGuard(spec.workspace, options)
  return {
    callers,
    find: async (name) => {
      const baseDir = baseOf(name, spec)
      const agent = await resolveNamed(name, { baseDir, builtInDir, packRoots: roots, guard, definitions, reads })
      return { ...agent, merge: await defaultMerge(agent, reads) }
    },
    async load(agent, given, above) {
      const { text: _, definition: _definition, stdin: _stdin, ...around } = options
      const target = await loadPromptTarget(childTargetOptions(agent, around), above)
      asChild(target, agent, { options: given.options })
      if (given.variables !== undefined) childVariables(target, given.variables, agent)
      return target
    },
  }
}

/**
 * The schema of `[output]` of a prompt file, which the answer must match.
 * @throws BatonError CONFIG_INVALID, FILE_UNREADABLE, OUTSIDE_WORKSPACE
 */
export async function loadOutput(
  spec: RunSpec,
  { reads, strategies }: Pick<TargetOptions, 'reads' | 'strategies'>,
): Promise<OutputSchema | undefined> {
  const placeOf: PromptTarget['placeOf'] = (path, part) => placeInPrompt(spec, path, part)
  const { settings, promptDir: dir, workspace } = spec
  const schema = settings.output?.schema
  if (schema === undefined) return undefined
  if (typeof schema === 'string') reads?.file(resolve(dir, schema))
  const flag = spec.layers.above.some(({ values }) => values['output'] !== undefined)
  const changesByTools = strategies.some((row) => row.changesByTools?.(settings) === true)
  if (settings.write_mode && !changesByTools) {
    const message = `${flag ? '--output-schema' : '"output"'} and write_mode = true cannot be combined`
    throw new BatonError('CONFIG_INVALID', message, {
      place: await placeOf([flag ? 'write_mode' : 'output']),
      hint: 'An answer either matches a schema or changes files: remove one of them.',
    })
  }
  return flag
    ? loadSchemaFlag(schema, { promptFile: spec.file, reads })
    : loadOutputSchema({ schema, dir, workspace, reads }, placeOf)
}

/** Names are relative to the workspace; `./x` and `../x` to the prompt file. */
function baseOf(name: string, { workspace, promptDir }: RunSpec): string {
  return /^\.\.?\//.test(name) ? resolve(promptDir) : workspace
}
