import { askAip } from '../agent/aip-prompt.ts'
import { fallbackModels, scriptAgentOptions, mergeOptions, modelOf } from '../agent/options.ts'
import { declaredOptionIssues } from '../agent/declared-option-issues.ts'
import { type DeclaredOptions, readDeclaredOptions } from '../agent/declared-options.ts'
import { isBatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { throwIssues } from '../settings/issue.ts'
import { defaultLayer } from '../config/settings.ts'
import type { CommandAgent, ScriptAgent } from '../event/agent.ts'
import { narrow } from '../event/context.ts'
import type { ScriptFile } from '../pack/resolve.ts'
import type { AipDocument } from '../prompt/aip.ts'
import { type Ask, decidedBy, type Drift, isOpen, joinAsks, type ModelAsk, openAsk, planAsk } from './ask.ts'
import { planCommand } from './command.ts'
import { offeredTools, givesTools, inMode } from './mode.ts'
import type { AgentPlan } from './plan.ts'
import type { PlanContext, Planner } from './planner.ts'
import { planTools } from './tools.ts'

export interface ScriptCall<Agent = PlannedScript> {
  readonly agent: Agent
  /** Null is "no inputs given". */
  readonly inputs: readonly Json[] | null
  /** The options that the agent starts with, and those of its caller. */
  readonly options: { readonly inherited: JsonObject; readonly given: JsonObject }
  /** How far its inputs may differ when it is run. */
  readonly drift: Drift
  readonly at: string
}

type PlannedScript = ScriptAgent & Partial<Pick<ScriptFile, 'builtIn'>>

/** The asks of an agent that is not a prompt file: a script, parsed without running any Lua; or a command line. */
export async function planLeaf(
  call: ScriptCall<PlannedScript | CommandAgent>,
  planner: Planner,
  context: PlanContext,
): Promise<AgentPlan> {
  const { agent, inputs, options, drift } = call
  if (agent.kind !== 'command') return planScript({ ...call, agent }, planner, context)
  return planCommand({ agent, inputs, given: options.given, drift }, context)
}

/** The asks of a script agent itself. */
export async function planScript(call: ScriptCall, planner: Planner, context: PlanContext): Promise<AgentPlan> {
  const { agent, at } = call
  const { document, reach } = planner.factsOf(agent)
  const { options, rules } = await optionsOf({ ...call, document }, planner)
  const inputs = inputsOf(call, document)
  const decides = document === undefined ? [] : decidesOf(document)
  const drift = decides.length > 0 ? decidedBy(call.drift, at) : call.drift
  const asks =
    document === undefined ? [] : await asksOf({ ...call, drift, inputs, options, document }, planner, context)
  const { tools: names, mode } = options
  const tools = Array.isArray(names)
    ? await planTools({ tools: names.map(String) }, await planner.serversOf(agent.file), narrow(context, { rules }))
    : []
  return {
    kind: agent.kind,
    name: agent.name,
    file: displayPath(context.scope.folders.workspace, agent.file),
    source: agent.builtIn === true ? 'built-in' : agent.pack === undefined ? 'file' : 'pack',
    sections: document === undefined ? [] : sectionsOf(document),
    options: withoutDefaults(options),
    inputs: inputs.length,
    ...offeredTools(tools, typeof mode !== 'string' || (await givesTools(mode, planner))),
    asks,
    runs_agents: reach.names,
    decides: [...decides, ...(reach.mayRunAgents ? ['the agents it runs'] : [])],
  }
}

async function optionsOf(
  { agent, document, options }: Pick<ScriptCall, 'agent' | 'options'> & { readonly document: AipDocument | undefined },
  { plugins, serversOf }: Planner,
): Promise<{ readonly options: JsonObject; readonly rules: DeclaredOptions['rules'] }> {
  const { inherited } = options
  const given = scriptAgentOptions(options.given, `"${agent.name}"`)
  if (document === undefined) return { options: mergeOptions(inherited, given), rules: [] }
  const own = await readDeclaredOptions(agent, document)
  const { names: servers, leftOut } = await serversOf(agent.file)
  throwIssues(await declaredOptionIssues(own, { plugins: async () => plugins, servers, leftOut }))
  return { options: mergeOptions(inherited, own.values, given), rules: own.rules }
}

function withoutDefaults(options: JsonObject): JsonObject {
  const isDefault = ([key, value]: [string, Json]): boolean =>
    value === defaultLayer.values[key] || (isJsonObject(value) && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(options).filter((entry) => !isDefault(entry)))
}

/** The inputs in the form that agents take: without any, it works once if it has a section for that. */
function inputsOf({ inputs }: ScriptCall, document: AipDocument | undefined): readonly Json[] {
  if (inputs !== null && inputs.length > 0) return inputs
  const isTask = document === undefined || [document.data, document.output, document.parts[0]].some(Boolean)
  return isTask ? [null] : []
}

function decidesOf({ beforeAll, data, parts }: AipDocument): readonly string[] {
  if (parts.length === 0 && data === undefined) return []
  return [
    ...(beforeAll === undefined ? [] : ['its inputs']),
    ...(beforeAll === undefined && data === undefined ? [] : ['its options', 'what its prompt contains']),
    ...(data === undefined ? [] : ['which inputs it skips']),
  ]
}

interface ScriptRequest extends Omit<ScriptCall, 'options' | 'inputs'> {
  readonly inputs: readonly Json[]
  readonly options: JsonObject
  readonly document: AipDocument
}

/** The requests of its prompt sections, rendered without what its code would return. */
async function asksOf(
  { agent, inputs, options, document, drift }: ScriptRequest,
  planner: Planner,
  context: PlanContext,
): Promise<readonly Ask[]> {
  if (document.parts.length === 0) return []
  const looking = planner.look(context.scope.folders.workspace)
  const section = { context: looking.context, run: () => Promise.reject(new Error('a plan runs no section')) }
  const request = { kind: 'script', agent, inputs, options } as const
  const asks: Ask[] = []
  for (const input of inputs) {
    const task = {
      context: looking.context,
      input,
      options,
      data: undefined,
      beforeAll: undefined,
      attachments: [],
    }
    try {
      await askAip({ request, options, section }, document, task)
    } catch (error) {
      // a template may depend on what the code returns
      if (!isBatonError(error) || !isOpen(drift)) throw error
    }
    const rendered = looking.taken().filter((asked) => 'messages' in asked)
    const isLeftOpen = rendered.length === 0 && isOpen(drift)
    for (const asked of isLeftOpen ? [unrendered(agent, options)] : rendered) {
      const { request: sent, offersTools } = await inMode(asked, planner)
      const how = { drift, tries: planner.tries, followUps: () => [], isEndless: !offersTools }
      asks.push(...(await planAsk(sent, how, planner.models)))
    }
  }
  return joinAsks(hasTexts(document) && isShifted(drift) ? asks.map(openAsk) : asks)
}

/** The request of a prompt that cannot be rendered without what the code returns. */
function unrendered({ name }: ScriptAgent, options: JsonObject): ModelAsk {
  const agent = { kind: 'llm', name, settings: modelOf(options), fallbackModels: fallbackModels(options) } as const
  return { kind: 'model', agent, messages: [] }
}

function hasTexts({ parts }: AipDocument): boolean {
  return parts.some(({ content, optionText = '' }) => `${optionText}${content}`.includes('{{'))
}

/** A template may repeat a text any number of times, so the cost of a longer one is not known. */
function isShifted({ less, more }: Drift): boolean {
  return less > 0 || more > 0
}

function sectionsOf({ options, beforeAll, data, parts, output, afterAll }: AipDocument): readonly string[] {
  const roles = { system: 'System', user: 'User', assistant: 'Assistant' } as const
  return [
    ...(options === undefined ? [] : ['Options']),
    ...(beforeAll === undefined ? [] : ['Before All']),
    ...(data === undefined ? [] : ['Data']),
    ...new Set(parts.map(({ role }) => roles[role])),
    ...(output === undefined ? [] : ['Output']),
    ...(afterAll === undefined ? [] : ['After All']),
  ]
}
