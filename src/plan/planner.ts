import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Plugins } from '../agent/plugins/plugin.ts'
import { readSourceFile } from '../base/files.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { namedCalls } from '../load/check/lua-source.ts'
import type {
  AgentExecutor,
  AgentRequest,
  ModelResult,
  PromptInput,
  PromptResult,
  ScriptResult,
} from '../event/agent.ts'
import {
  type Agents,
  type Approver,
  type ContextWith,
  type Events,
  type NarrowPorts,
  rootScope,
  type RunContext,
  type RunScope,
  type RunStore,
  type Servers,
  type Surroundings,
  unlimited,
} from '../event/context.ts'
import type { PromptFile, ScriptFile } from '../pack/resolve.ts'
import { type AipDocument, parseAip } from '../prompt/aip.ts'
import { asChild, childContext, childTargetOptions, childVariables } from '../load/child-target.ts'
import { loadPromptTarget, type PromptTarget } from '../load/prompt-target.ts'
import type { ServersOfPack } from '../config/unused-servers.ts'
import type { TargetOptions } from '../load/options.ts'
import { asLua } from '../script/host/require.ts'
import { moduleFiles } from '../script/module-reader.ts'
import type { Drift } from './ask.ts'
import type { ModelPlanner } from './models.ts'
import { systemClock } from '../base/clock.ts'
import type { CallRequest, Effects } from '../event/effects.ts'
import { nothingSpent } from '../event/meter.ts'
import { allRights, type Permission } from '../event/permission.ts'
import { type Place, placeText } from '../event/place.ts'
import { createSources } from '../event/sources.ts'
import { permissionCheck } from '../journal/permission-check.ts'
import { equip } from '../team/tools.ts'
import { createPermission } from '../tool/permission.ts'
import type { Round, Strategy } from '../run/strategy.ts'
import type { FileSet } from '../run/files.ts'
import type { TaskPlan } from '../run/plan.ts'
import type { ChainState } from '../stage/state.ts'
import type { AnswerPlan, PartPlan, PromptPlan, SingleAnswerPlan, StrategyPlan } from './plan.ts'
import type { AnswerOptions } from './text.ts'

interface ScriptFacts {
  /** Undefined for a `.lua` file. */
  readonly document: AipDocument | undefined
  readonly reach: LuaReach
}

/** What plans take of a run: files, agents and tools that are looked up, and nothing that acts. */
interface PlanPorts
  extends NarrowPorts, Events, RunStore, Approver, Pick<Agents, 'definitions'>, Pick<Servers, 'broughtTools'> {
  readonly signal: Surroundings['signal']
}

export type PlanContext = ContextWith<keyof RunScope, PlanPorts>

/** What all parts of one plan share. */
export interface Planner {
  readonly strategies: readonly PlannedStrategy[]
  readonly shapes: AnswerShapes
  readonly models: ModelPlanner
  readonly tries: number
  readonly signal: AbortSignal
  readonly onNote: (note: string) => void
  /** Tools and modes from the plugins of the run. */
  readonly plugins: Plugins
  /** The MCP servers available to an agent file (absolute). */
  readonly serversOf: (file: string) => Promise<ServersOfPack>
  /** Plans a prompt file that is an agent: the callback to the caller. */
  readonly planPrompt: (call: PromptCall, planner: Planner, context: PlanContext) => Promise<PlannedPrompt>
  /** Loads a prompt file that is named as an agent; each once. */
  readonly loadChild: (agent: Pick<PromptFile, 'name' | 'file' | 'text' | 'defined'>) => Promise<PromptTarget>
  readonly factsOf: (agent: Pick<ScriptFile, 'kind' | 'file' | 'text' | 'pack'>) => ScriptFacts
  readonly look: (workspace: string) => ReturnType<typeof createLooking>
}

interface PlannerOptions extends Pick<
  Planner,
  'planPrompt' | 'models' | 'tries' | 'signal' | 'onNote' | 'plugins' | 'serversOf'
> {
  readonly options: PlanTargetOptions
}

export interface TaskCall {
  readonly target: PromptTarget
  readonly plan: TaskPlan
  /** After the `pre` chain, as written. */
  readonly state: ChainState
  readonly files: FileSet
  readonly given: PromptInput | undefined
  readonly drift: Drift
  /** How the instruction of the first time is changed. */
  readonly promptOf?: Round['promptOf']
  /** Tokens that the instruction of later times may have in addition. */
  readonly laterTokens?: number
}

export interface PlannedQuestion<Answer extends AnswerPlan = AnswerPlan> {
  readonly asked: { readonly answer: Answer; readonly tokens: number | null }
  readonly inputTokens: number | null
  readonly problem: string | null
}

export interface PromptCall {
  readonly target: PromptTarget
  readonly given?: PromptInput
  /** `-i` values. */
  readonly inputs: readonly Json[]
  readonly drift: Drift
}

export interface PlannedPrompt {
  readonly plan: PromptPlan
  /** Maximum length of all its answers together, in tokens; null: no limit is known. */
  readonly answer: number | null
}

/** A strategy, and what a plan needs to know of it besides its outline. */
export interface PlannedStrategy extends Strategy {
  /** How its answers are shown; omitted: one after the other. */
  readonly shape?: () => Promise<AnswerShape>
  /** The model of the file leads others, and calls them as often as it likes. */
  readonly leads?: true
}

/** How the answers that a strategy gets are shown in a plan. `Plan` is its part of the `--json` output. */
export interface AnswerShape<Plan extends StrategyPlan = StrategyPlan> {
  /** One task, from the answers of its outline. */
  of(parts: readonly PlannedPart[], target: PromptTarget): PlannedQuestion<Plan>
  /** The answers to all tasks as one. */
  join(first: Plan, all: readonly Plan[]): Plan
  /** What it asks of agents and models, in order. */
  partsOf(plan: Plan): readonly PartPlan[]
  /** Its lines in the text of a plan: a heading, and what is in it. */
  lines(plan: Plan, options: AnswerOptions): readonly string[]
  /** The graph that it is; omitted: it is none. */
  draw?(plan: Plan, language: 'mermaid' | 'dot'): string
}

/** One answer of an outline. */
export interface PlannedPart extends Pick<PlannedQuestion, 'inputTokens' | 'problem'> {
  readonly name: string
  readonly at: string
  /** For all times that it is asked for, with what is asked instead; only possible asks if it is asked for only after a failure. */
  readonly answer: SingleAnswerPlan
  /** Maximum length of the answer; null: no limit is known. */
  readonly tokens: number | null
  /** Places that decide whether it is asked for, and with what. */
  readonly decidedBy: readonly string[]
}

/** By the key of the strategy. */
export type AnswerShapes = ReadonlyMap<string, AnswerShape>

/** The shapes of all strategies that have one. */
export async function shapesOf(strategies: readonly PlannedStrategy[]): Promise<AnswerShapes> {
  const found = new Map<string, AnswerShape>()
  for (const { key, shape } of strategies) if (shape !== undefined) found.set(key, await shape())
  return found
}

/** What the targets of a plan are loaded with. */
export interface PlanTargetOptions extends TargetOptions {
  readonly strategies: readonly PlannedStrategy[]
}

export async function createPlanner({ options, ...shared }: PlannerOptions): Promise<Planner> {
  const { text: _, definition: _definition, stdin: _stdin, ...around } = options
  const children = new Map<string, Promise<PromptTarget>>()
  const facts = new Map<string, ScriptFacts>()
  return {
    ...shared,
    strategies: options.strategies,
    shapes: await shapesOf(options.strategies),
    loadChild(agent) {
      const key = agent.defined === undefined ? agent.file : `${agent.file}#${agent.name}\n${agent.text}`
      const loaded = children.get(key) ?? loadPromptTarget(childTargetOptions(agent, around))
      children.set(key, loaded)
      return loaded
    },
    factsOf(agent) {
      const known = facts.get(agent.file) ?? readFacts(agent)
      facts.set(agent.file, known)
      return known
    },
    look: (workspace) => createLooking({ ...shared, workspace, path: options.env['PATH'] }),
  }
}

function readFacts({ kind, file, text, pack }: Parameters<Planner['factsOf']>[0]): ScriptFacts {
  const folders = [dirname(file), ...(pack === undefined ? [] : [pack.dir])]
  if (kind === 'lua') return { document: undefined, reach: reachOf(asLua(text), folders) }
  const document = parseAip(file, text)
  const { beforeAll, data, output, afterAll } = document
  const code = [beforeAll, data, output, afterAll].flatMap((block) => (block === undefined ? [] : [block.text]))
  return { document, reach: reachOf(code.join('\n'), folders) }
}

interface ChildCall {
  readonly agent: Pick<PromptFile, 'name' | 'file' | 'text' | 'defined'>
  readonly given: PromptInput
  readonly options: JsonObject
  readonly drift: Drift
}

/** A prompt file that is run as an agent: planned as its caller runs it. */
export async function planChild(
  { agent, given, options, drift }: ChildCall,
  planner: Planner,
  context: PlanContext,
): Promise<PlannedPrompt> {
  const loaded = await planner.loadChild(agent)
  const child = asChild(loaded, agent, { options, inherited: context.scope.options })
  const target = { ...child, vars: childVariables(loaded, given.variables, agent) }
  return planner.planPrompt({ target, given, inputs: [], drift }, planner, childContext(target, context))
}

/** What Lua code may start, determined from its text. */
interface LuaReach {
  /** Agents that it runs by a literal name, each once. */
  readonly names: readonly string[]
  /** False: it never runs another agent. */
  readonly mayRunAgents: boolean
  /** Whether it may ask to be run again (`aip.flow.redo_run`). */
  readonly mayRedo: boolean
}

/** Comments and strings: their content is not code, because `load` is covered by `otherWays`. */
const noCode = /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g

/**
 * Ways to `aip.agent.run` other than literal calls. Without them, `aip` is only followed by the name of another module.
 */
const otherWays =
  /(?<![.:])\b(?:load|loadstring|dofile|loadfile|debug|package|_G|_ENV)\b|\baip\b(?!\s*\.\s*(?:agent\s*\.\s*extract_options\b|(?!agent\b)\w))/

/** Reads code and, recursively, the modules it names, in the `lua` folders of `folders`. Runs nothing. */
export function reachOf(code: string, folders: readonly string[]): LuaReach {
  const names = new Set<string>()
  const seen = new Set<string>()
  let mayRunAgents = false
  let mayRedo = false

  function look(text: string): void {
    const calls = namedCalls(text)
    for (const { kind, name } of calls) if (kind === 'agent') names.add(name)
    const modules = calls.filter(({ kind }) => kind === 'module')
    // a module with a computed name may contain anything
    const bare = text.replace(noCode, '""')
    const named = [...bare.matchAll(/\brequire\b/g)].length
    mayRunAgents ||= otherWays.test(bare) || named > modules.length
    mayRedo ||= /redo/.test(text)
    for (const { name } of modules) lookAtModule(name)
  }

  function lookAtModule(name: string): void {
    const file = moduleFiles(name, folders).find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    if (file === undefined || seen.has(file)) return
    seen.add(file)
    look(readSourceFile(file))
  }

  look(code)
  return { names: [...names], mayRunAgents: mayRunAgents || names.size > 0, mayRedo }
}

interface LookingOptions {
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
  readonly plugins: Plugins
  /** `PATH` of the run. */
  readonly path: string | undefined
  /** Called with the warnings that a run would print. */
  readonly onNote: (note: string) => void
}

interface Looking {
  readonly context: RunContext
  /** Requests to agents since the last call; none of them was run. */
  readonly taken: () => readonly AgentRequest[]
}

/**
 * A context that lets the code of real runs look but not act: files are listed and read, agents are recorded and not
 * run, and anything with a consequence is refused. Created for one prompt file: paths are read once.
 */
function createLooking({ workspace, signal, plugins, path, onNote }: LookingOptions): Looking {
  let asked: AgentRequest[] = []
  const folders = { workspace, cwd: workspace, packRoots: [] }
  const permissionOf = (rights: typeof allRights) => createPermission(rights, folders)
  const context: RunContext = {
    // answers are neither read nor applied
    scope: rootScope({ runId: 'plan', version: '', folders, dry: 'res' }),
    services: {
      effects: lookingEffects(permissionOf(allRights)),
      agents: lookingAgents((request) => asked.push(request)),
      permission: permissionOf(allRights),
      permissionOf,
      ...unlimited(),
      events: (_, event) => {
        if (event.type === 'warning') onNote(event.message)
      },
      now: () => new Date(),
      clock: systemClock,
      signal,
      // programs are looked up, but none is started
      env: defined({ PATH: path }),
      isPlan: true,
      sources: createSources([]),
      equip,
      broughtTools: plugins.tools,
      programFunctions: plugins.functions,
    },
  }
  return {
    context,
    taken() {
      const all = asked
      asked = []
      return all
    },
  }
}

function lookingAgents(onAsked: (request: AgentRequest) => void): AgentExecutor {
  async function run(request: AgentRequest): Promise<ScriptResult | PromptResult | ModelResult> {
    onAsked(request)
    switch (request.kind) {
      case 'script':
        return { kind: 'script', end: 'done', outputs: [], failedInputs: 0, afterAll: undefined }
      case 'prompt':
        return { kind: 'prompt', end: 'done', text: '', outputs: [], value: undefined, spent: nothingSpent }
      case 'model':
        return noAnswer
    }
  }

  return {
    // each kind of request has its own kind of result
    run: run as AgentExecutor['run'],
    converse: async () => undefined,
    async open(agent) {
      return {
        id: 'plan',
        status: () => ({ kind: 'idle' }),
        async send(messages) {
          onAsked({ kind: 'model', agent, messages })
          return '0'
        },
        answer: async () => noAnswer,
        wasAnswered: () => false,
        prompts: () => [],
        messages: () => [],
        approve: () => {},
        reject: () => {},
        interrupt: () => {},
        ended: Promise.resolve(undefined),
        close: async () => {},
      }
    },
  }
}

const noAnswer: ModelResult = {
  kind: 'model',
  end: 'done',
  text: '',
  reasoning: '',
  model: { name: '', provider: '' },
  messages: [],
  calls: [],
  spent: nothingSpent,
  seconds: 0,
}

function lookingEffects(permission: Permission): Effects {
  const known = new Map<string, unknown>()
  const refuse = (what: string): never => {
    throw new Error(`a plan has no consequences, but ${what} was asked for`)
  }
  /** Each task reads the same files. */
  const once = <T>(at: Place, { name, args, reads }: CallRequest, look: () => T): T => {
    const key = JSON.stringify([reads === undefined ? placeText(at) : '', name, args])
    if (!known.has(key)) known.set(key, look())
    return known.get(key) as T
  }
  const effects: Effects = {
    observe: once,
    observeAsync: (at, call, look) => once(at, call, () => look(permissionCheck(permission))),
    answers: () => false,
    wasDone: () => false,
    requested: () => undefined,
    permit: () => refuse('an approval'),
    changeFile: (_, { op }) => refuse(op),
    perform: (_, { kind }) => refuse(kind),
    boundary: (_, work) => work(),
    call: (_, { name }) => refuse(name),
    undo: () => refuse('a change that failed'),
    again: () => false,
    flush: async () => {},
    under: () => effects,
  }
  return effects
}
