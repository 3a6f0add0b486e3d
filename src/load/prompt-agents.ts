import { entryVariables } from '../agent/prompt-input.ts'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import type { Stage } from '../config/agent-config.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { CallerVariables } from '../event/agent.ts'
import type { NamedFile, PromptFile } from '../pack/resolve.ts'
import { placeOf } from '../prompt/document.ts'
import { checkAs } from '../stage/answer.ts'
import type { ChainState } from '../stage/state.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { StepAgent } from './strategy.ts'
import { modelOptions } from '../config/agent-options.ts'
import { mergeLayers } from '../config/layers.ts'
import type { ResolvedAgent } from './definitions.ts'

/** All agents of a prompt file, found and read. */
export interface PromptAgents {
  /** The agents of enabled entries of `sub_agents`, and those that the strategy of the file names. */
  readonly byName: ReadonlyMap<string, ResolvedAgent>
  /** The agent of `agent`, which answers instead of the built-in main agent. */
  readonly answerAgent: ResolvedAgent | undefined
  /** All of these, and those that their prompt files name. */
  readonly all: readonly NamedFile[]
  /** Each entry with its agent, `agent`, and the agents of the strategy. */
  readonly starts: readonly NamedAgent[]
}

export interface NamedAgent {
  readonly agent: ResolvedAgent
  readonly options: JsonObject
  readonly stages: readonly Stage[]
  /** Where it is named. */
  readonly path: DataPath
  /** It is started after something else was paid for; default: what its stages say. */
  readonly isLate?: boolean
  /** The target to run if the agent is a prompt file. */
  readonly child: PromptTarget | undefined
}

export interface AgentLookup {
  readonly find: (name: string) => Promise<ResolvedAgent>
  /** Absolute paths of the prompt files that name this one, outermost first; empty for the file that is run. */
  readonly callers: readonly string[]
  /** Loads a prompt file; throws if its caller could not run it with these values. */
  readonly load: (agent: PromptFile, given: EntryValues, callers: readonly string[]) => Promise<PromptTarget>
}

/** What an entry passes to its agent. */
interface EntryValues {
  readonly options: JsonObject
  /** Omitted if they are known only when it runs. */
  readonly variables?: CallerVariables
}

/**
 * Finds every agent that a prompt file names, and recursively loads the prompt files among them, so that all their
 * errors are reported before anything runs. `ofStrategy`: the agents that the strategy of the file names.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS, AGENT_CYCLE if files name each other in a cycle, CONFIG_INVALID
 * for an entry that does not fit its agent, and the errors of prompt files that it names
 */
export async function findPromptAgents(
  spec: RunSpec,
  lookup: AgentLookup,
  ofStrategy: readonly StepAgent[],
): Promise<PromptAgents> {
  const byName = new Map<string, ResolvedAgent>()
  const starts: NamedAgent[] = []
  for (const config of spec.agents.filter(({ enabled }) => enabled)) {
    const { name, index, options, entry, stages } = config
    const path = ['sub_agents', index]
    const agent = byName.get(name) ?? (await placed(spec, path, () => lookup.find(name)))
    byName.set(name, agent)
    await placed(spec, [...path, 'as'], () => checkAs(config, agent))
    const child = await loadBelow(agent, { options, variables: entryVariables(entry), path }, spec, lookup)
    starts.push({ agent, options, stages, path, child })
  }
  const answerAgent = await findAnswerAgent(spec, lookup)
  if (answerAgent !== undefined) {
    const options = questionOptions({ spec, state: spec })
    const child = await loadBelow(answerAgent, { options, path: ['agent'] }, spec, lookup)
    starts.push({ agent: answerAgent, options, stages: [], path: ['agent'], child })
  }
  for (const { name, path, options, isLate } of ofStrategy) {
    const agent = await placed(spec, path, async () => alone(byName.get(name) ?? (await lookup.find(name))))
    byName.set(name, agent)
    const child = await loadBelow(agent, { options, path }, spec, lookup)
    starts.push({ agent, options, stages: [], path, child, ...defined({ isLate }) })
  }
  const own = [...byName.values(), ...(answerAgent === undefined ? [] : [answerAgent])]
  const below = starts.flatMap(({ child }) => child?.agents ?? [])
  const all = new Map([...own, ...below].map((agent) => [`${agent.file}\n${agent.name}`, agent]))
  return { byName, answerAgent, all: [...all.values()], starts }
}

/**
 * Checks an agent that is named outside of `sub_agents`.
 * @throws BatonError CONFIG_INVALID for a built-in agent, because those need the input of a chain
 */
function alone(agent: ResolvedAgent): ResolvedAgent {
  if (!agent.builtIn) return agent
  throw new BatonError('CONFIG_INVALID', `the built-in agent "${agent.name}" works only in sub_agents`, {
    hint: 'Name it in sub_agents, or give your own agent a different name or write its path, such as ./agents/NAME.md.',
  })
}

async function findAnswerAgent(spec: RunSpec, { find }: AgentLookup): Promise<ResolvedAgent | undefined> {
  const { agent: name } = spec.settings
  return name === undefined ? undefined : placed(spec, ['agent'], async () => alone(await find(name)))
}

async function loadBelow(
  agent: ResolvedAgent,
  { path, ...given }: EntryValues & { readonly path: DataPath },
  spec: RunSpec,
  { callers, load }: AgentLookup,
): Promise<PromptTarget | undefined> {
  if (agent.kind !== 'prompt') return undefined
  const chain = [...callers, spec.file]
  return placed(spec, path, () => {
    // an agent that a file defines has no agents of its own
    if (agent.defined === undefined && chain.includes(agent.file)) throw cycle([...chain, agent.file], spec)
    return load(agent, given, chain)
  })
}

/** Places an error: one without a place is about the name or entry; one in another file was caused by the entry. */
async function placed<T>(spec: RunSpec, path: DataPath, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isBatonError(error)) throw error
    throw rewordError(error, { from: await placeOf(spec.document, path, 'value') })
  }
}

function cycle(chain: readonly string[], { workspace }: RunSpec): BatonError {
  const files = chain.slice(chain.indexOf(chain.at(-1) ?? ''))
  const names = files.map((file) => displayPath(workspace, file)).join(' → ')
  return new BatonError('AGENT_CYCLE', `prompt files run each other in a cycle: ${names}`, {
    hint: 'Let one of them answer without running the other.',
  })
}

/**
 * It is the main agent, so the model settings of the front matter (after the chain), the environment and flags take
 * precedence over its own options; config files do not. Scripts get those of them that are options of scripts.
 */
export function questionOptions({
  spec,
  state,
}: {
  readonly spec: Pick<RunSpec, 'layers'>
  readonly state: Pick<ChainState, 'params'>
}): JsonObject {
  const own = { ...spec.layers.own, values: state.params }
  const { values } = mergeLayers([own, ...spec.layers.above])
  return Object.fromEntries(
    modelOptions.flatMap((key): readonly (readonly [string, Json])[] => {
      const value = values[key]
      return value === undefined || value === null ? [] : [[key, value]]
    }),
  )
}
