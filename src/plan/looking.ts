import { systemClock } from '../base/clock.ts'
import type { Plugins } from '../agent/plugins/plugin.ts'
import { defined } from '../base/json.ts'
import type { AgentExecutor, AgentRequest, ModelResult, PromptResult, ScriptResult } from '../event/agent.ts'
import { rootScope, type RunContext } from '../event/context.ts'
import type { AskedCall, Effects } from '../event/effects.ts'
import { createMeter, nothingSpent } from '../event/meter.ts'
import { allRights, type Permission } from '../event/permission.ts'
import { type Place, placeText } from '../event/place.ts'
import { createSources } from '../event/sources.ts'
import { allowedBy } from '../journal/allowed.ts'
import { createPermission } from '../tool/permission.ts'

export interface LookingOptions {
  /** Absolute. */
  readonly workspace: string
  readonly signal: AbortSignal
  readonly plugins: Plugins
  /** `PATH` of the run. */
  readonly path: string | undefined
  /** Called with the warnings that a run would print. */
  readonly onNote: (note: string) => void
}

export interface Looking {
  readonly context: RunContext
  /** Requests to agents since the last call; none of them was run. */
  readonly taken: () => readonly AgentRequest[]
}

/**
 * A context that lets the code of real runs look but not act: files are listed and read, agents are recorded and not
 * run, and anything with a consequence is refused. Created for one prompt file: paths are read once.
 */
export function createLooking({ workspace, signal, plugins, path, onNote }: LookingOptions): Looking {
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
      limitCost: () => {},
      leaseCost: () => () => {},
      meter: createMeter(),
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
  const once = <T>(at: Place, { name, args, reads }: AskedCall, look: () => T): T => {
    const key = JSON.stringify([reads === undefined ? placeText(at) : '', name, args])
    if (!known.has(key)) known.set(key, look())
    return known.get(key) as T
  }
  const effects: Effects = {
    observe: once,
    observeAsync: (at, call, look) => once(at, call, () => look(allowedBy(permission))),
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
