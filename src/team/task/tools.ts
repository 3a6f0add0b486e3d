import { modelText } from '../../base/model-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { AgentDefinition, ModelAgent, Tool } from '../../event/agent.ts'
import { type Agents, type ContextWith, narrow, type RunContext, withScope, withServices } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { callPlace, type Place } from '../../event/place.ts'
import { agentIdAt, taskTool } from '../../event/sub-agents.ts'
import { toolVerdict } from '../../tool/tool-rules.ts'
import { bindTool } from '../../tool/toolbox/bind.ts'
import { defineTool, type Toolbox, type ToolCall, type ToolKind, type ToolOutput } from '../../tool/toolbox/kind.ts'
import type { ChildEnd, Order } from '../core/order.ts'
import {
  callsBehind,
  type Child,
  type Children,
  createChildren,
  limitTools,
  inheritedBy,
  placeOfWork,
  stopByCall,
} from '../core/children.ts'
import { warnOfWithheldTools } from '../../agent/tool-names.ts'
import { toolLayers, toolsThrough } from '../core/tool-filters.ts'
import { forkedMessages } from '../core/life.ts'
import { agentNames, answerText, failureText, spentText, taskText } from '../core/texts.ts'
import { atMost, unlessAborted } from '../../base/concurrency.ts'

interface TaskInput {
  readonly description: string
  readonly prompt: string
  readonly subagent_type: string
  readonly model?: string
  readonly resume?: string
  readonly run_in_background?: boolean
  readonly max_turns?: number
  readonly allowed_tools?: readonly string[]
}

/** Limits of one conversation: agents in the background at the same time, and all agents. */
const mostInBackground = 8
const mostStarted = 100

export interface TaskSurroundings {
  /** Which tools the caller gets. */
  readonly named: ToolFilter
  readonly box: Toolbox
  /** Of the conversation. */
  readonly context: RunContext
}

/** What the tools of this folder add to a conversation. */
export interface TaskTools {
  readonly tools: readonly Tool[]
  readonly inbox: NonNullable<ModelAgent['inbox']>
}

/**
 * The tools `task`, `task_output` and `task_stop` of a conversation. Their calls are not recorded as a
 * whole: decisions are observations and the end of each agent is a boundary, so a resumed run continues agents that had
 * not ended.
 */
export function taskTools(
  names: readonly string[],
  offered: readonly AgentDefinition[],
  { named, box, context }: TaskSurroundings,
): TaskTools {
  const children = createChildren(context)
  const kinds = [taskKind({ offered, children, named }), outputKind(children), stopKind(children)]
  const tools = kinds.filter(({ name }) => names.includes(name)).map((kind) => bindTool(kind, box))
  return { tools, inbox: children.inbox }
}

/** The agents that a model may use: they have a description, and no rule denies them. */
export async function usableAgents({
  scope,
  services,
}: ContextWith<'rights' | 'folders', Pick<Agents, 'definitions'>>): Promise<readonly AgentDefinition[]> {
  const { rights, folders } = scope
  const definitions = (await services.definitions?.()) ?? new Map()
  return [...definitions.values()].filter(({ name, description, heldBack }) => {
    if (description === undefined || heldBack !== undefined) return false
    const call = { kind: 'tool', tool: 'task', input: null, subject: { kind: 'name', name } } as const
    return toolVerdict(rights.rules, call, folders.workspace).kind !== 'deny'
  })
}

function taskKind(known: Known): ToolKind {
  return defineTool<TaskInput>({
    name: taskTool,
    description: taskText(known.offered),
    parameters: {
      type: 'object',
      properties: {
        description: {
          type: 'string',
          minLength: 1,
          maxLength: 200,
          description: modelText`A title of 3 to 5 words.`,
        },
        prompt: { type: 'string', minLength: 1, description: modelText`The task of the agent.` },
        subagent_type: { type: 'string', minLength: 1, description: modelText`The name of the agent.` },
        model: { type: 'string', minLength: 1, description: modelText`A model to use instead of its own.` },
        resume: {
          type: 'string',
          minLength: 1,
          description: modelText`The id of an agent that has ended: a new agent continues from its conversation.`,
        },
        run_in_background: { type: 'boolean', description: modelText`Return immediately while the agent works.` },
        max_turns: { type: 'integer', minimum: 1, description: modelText`Maximum number of requests to its model.` },
        allowed_tools: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description: modelText`Limits its tools to these.`,
        },
      },
      required: ['description', 'prompt', 'subagent_type'],
      additionalProperties: false,
    },
    callsOthers: true,
    subject: ({ subagent_type: name }) => ({ kind: 'name', name }),
    run: (input, call) => startTask(input, call, known),
    close: (_box, _context, failure) => known.children.close(failure),
  })
}

/** The decision about a call. It is recorded, because the number of working agents differs in a resumed run. */
type Decision = { readonly start: { readonly plan: boolean } } | { readonly refused: string }

interface Known {
  readonly offered: readonly AgentDefinition[]
  readonly children: Children
  /** The tools of the caller. */
  readonly named: ToolFilter
}

async function startTask(input: TaskInput, call: ToolCall, known: Known): Promise<ToolOutput> {
  const { context, box } = call
  const { effects, conversation } = context.services
  const { subagent_type: name, resume, run_in_background: isBackground = false } = input
  const place = placeOfWork(call)
  const asked = { name: 'task', args: { agent: name, ...defined({ resume }), background: isBackground } }
  const decision = effects.observe(callPlace(call.at, 0), asked, () => decide(input, box, known))
  if ('refused' in decision) return { text: decision.refused, isError: true }
  const offered = known.offered.find((one) => one.name === name)
  if (offered === undefined) return { text: unknownType(name, known.offered), isError: true }
  const earlier = resume === undefined ? undefined : await known.children.find(resume)?.end()
  const before = earlier?.messages ?? (offered.forkContext ? forkedMessages(conversation?.messages() ?? []) : [])
  const order: Order = {
    id: agentIdAt(place),
    offered,
    description: input.description,
    prompt: input.prompt,
    isBackground,
    before,
    ...defined({ model: input.model, maxTurns: leastOf(offered.maxTurns, input.max_turns), resumes: resume }),
    ...defined({ session: earlier?.session }),
    inherited: inheritedBy(call),
    baseDir: box.baseDir,
    among: 2 + callsBehind(taskTool, call),
  }
  const layers = toolLayers(offered, {
    isBackground,
    allowedTools: input.allowed_tools,
    onlyReads: decision.start.plan,
  })
  const at: Place = [...place, { kind: 'agent', name }]
  const held = limitTools([known.named, ...layers], withServices(withScope(context, { at }), { seat: undefined }))
  if (!known.children.all().some((one) => one.order.offered.name === name)) {
    warnOfWithheldTools({ tools: toolsThrough(offered.tools ?? [], layers.slice(0, 2)) }, name, context)
  }
  const child = known.children.start(order, decision.start.plan ? narrow(held, { write: false }) : held)
  if (isBackground) {
    return {
      text: modelText`agent ${order.id} (${input.description}) is working in the background: you are notified when it has ended`,
    }
  }
  return endOutput(order, await child.ended, box)
}

function endOutput(order: Order, end: ChildEnd, box: Toolbox): ToolOutput {
  for (const plan of end.planned) box.work.add([], plan)
  const { changes } = end
  if (end.status !== 'done') return { text: failureText(order, end), isError: true, changes }
  return { text: answerText(order, end), changes }
}

function decide(input: TaskInput, box: Toolbox, { offered, children }: Known): Decision {
  const { subagent_type: name, resume, run_in_background: isBackground = false } = input
  const found = offered.find((one) => one.name === name)
  const refused = (text: string): Decision => ({ refused: text })
  if (found === undefined) return refused(unknownType(name, offered))
  const plan = box.plan.file() !== undefined
  if (plan && found.agent.kind !== 'prompt') {
    return refused(
      `plan mode is on: ${name} is a program, which cannot be restricted to reading. Call exit_plan first.`,
    )
  }
  const all = children.all()
  if (all.length >= mostStarted) {
    return refused(`limit reached: this conversation has started ${mostStarted} agents, and may start no more`)
  }
  const running = all.filter(({ order, state }) => order.isBackground && state().kind === 'running')
  if (isBackground && running.length >= mostInBackground) {
    const ids = running.map(({ order }) => order.id).join(', ')
    return refused(
      `limit reached: ${mostInBackground} agents are already working in the background (${ids}). Wait until one has ended, or stop one with task_stop.`,
    )
  }
  const problem = resume === undefined ? undefined : whyNotResumed(resume, name, children)
  return problem === undefined ? { start: { plan } } : refused(problem)
}

function unknownType(name: string, offered: readonly AgentDefinition[]): string {
  return modelText`Unknown agent type: ${name}. Agents: ${agentNames(offered)}`
}

function whyNotResumed(id: string, name: string, children: Children): string | undefined {
  const child = children.find(id)
  if (child === undefined) return unknownAgent(id, children)
  const { offered } = child.order
  if (offered.name !== name) return modelText`agent ${id} is of the type ${offered.name}, not ${name}`
  const state = child.state()
  if (state.kind !== 'ended') return modelText`agent ${id} is still working: it can be resumed when it has ended`
  return state.end.messages === undefined && state.end.session === undefined
    ? `agent ${id} cannot be resumed: its conversation was not kept. Give the work to a new agent.`
    : undefined
}

function leastOf(...limits: readonly (number | undefined)[]): number | undefined {
  const known = limits.filter((limit) => limit !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

const idParameter: JsonObject = {
  type: 'string',
  minLength: 1,
  description: modelText`The id that task returned, such as a1b2c3d4e.`,
}
const mostSeconds = 600

/** The tool `task_output`. What it sees is recorded as an observation. */
function outputKind(children: Children): ToolKind {
  return defineTool<{ readonly id: string; readonly wait_seconds?: number }>({
    name: 'task_output',
    description: modelText`Show whether an agent is working or how it ended, its output so far, and its cost.`,
    parameters: {
      type: 'object',
      properties: {
        id: idParameter,
        wait_seconds: {
          type: 'number',
          minimum: 0,
          maximum: mostSeconds,
          description: modelText`Seconds to wait for its end; default: 0.`,
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
    callsOthers: true,
    async run({ id, wait_seconds: seconds = 0 }, { context, at }) {
      const { effects, signal } = context.services
      const child = children.find(id)
      if (child === undefined) return { text: unknownAgent(id, children), isError: true }
      const { text, ended } = await effects.observeAsync(
        callPlace(at, 0),
        { name: 'task_output', args: { id } },
        async () => {
          if (seconds > 0)
            await unlessAborted(
              atMost(
                seconds * 1000,
                child.ended.catch(() => undefined),
              ),
              signal,
            )
          return stateOf(child)
        },
      )
      // the result of this call reports the end to the model
      if (ended) children.inbox.know([id])
      return { text }
    },
  })
}

function stateOf(child: Child): { readonly text: string; readonly ended: boolean } {
  const { order } = child
  const state = child.state()
  const who = `agent ${order.id} (${order.description})`
  switch (state.kind) {
    case 'running':
      return {
        ended: false,
        text: modelText`${who} is working: ${spentText(child.spentSoFar())}\n${child.saidSoFar()}`.trimEnd(),
      }
    case 'broken':
      return {
        ended: false,
        text: modelText`${who} is waiting for the user: ${spentText(child.spentSoFar())}\n${child.saidSoFar()}`.trimEnd(),
      }
    case 'ended': {
      const { end } = state
      const text = end.status === 'done' ? `${who} is done: ${answerText(order, end)}` : failureText(order, end)
      return { ended: true, text: `${text}\n[${spentText(end.spent)}]` }
    }
  }
}

/** The tool `task_stop`. */
function stopKind(children: Children): ToolKind {
  return defineTool<{ readonly id: string }>({
    name: 'task_stop',
    description: modelText`Stop a background agent. Its output so far becomes its result.`,
    parameters: {
      type: 'object',
      properties: { id: idParameter },
      required: ['id'],
      additionalProperties: false,
    },
    callsOthers: true,
    async run({ id }, call) {
      const child = children.find(id)
      if (child === undefined) return { text: unknownAgent(id, children), isError: true }
      const stop = async (): Promise<string> => {
        const before = child.state()
        if (before.kind !== 'ended') await child.stop()
        const state = child.state()
        if (state.kind !== 'ended') return modelText`agent ${id} was stopped`
        if (state.end.status === 'stopped') return failureText(child.order, state.end)
        return modelText`agent ${id} had already ended: task_output shows how`
      }
      return stopByCall(child, { tool: 'task_stop', id, inbox: children.inbox, stop }, call)
    },
  })
}

/** The text for a model that names an agent which this conversation did not start. */
function unknownAgent(id: string, children: Children): string {
  const known = children.all().map(({ order }) => order.id)
  return modelText`there is no agent ${id} in this conversation${known.length === 0 ? ': none was started' : `; known agents: ${known.join(', ')}`}`
}
