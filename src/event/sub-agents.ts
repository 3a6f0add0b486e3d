import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import { harmlessName } from '../base/terminal-text.ts'
import type { AgentSession, ModelResult, PromptAgent } from './agent.ts'
import type { FileChange } from './event.ts'
import type { Inbox } from './inbox.ts'
import type { Message } from './message.ts'
import { conversationPlace, originOf, originText, parsePlace, part, type Place, placeText } from './place.ts'

/** The tool with which a model delegates work to an agent. */
export const taskTool = 'task'

/** The tools with which a model starts agents of its team; the ids of those are in the record, not in their places. */
export const spawnTools: ReadonlySet<string> = new Set(['spawn_agent', 'send_input'])

/** The id of the agent started by a call at this place: `a` and eight hex digits, the same in a resumed run. */
export function agentIdAt(call: Place): string {
  return `a${sha256(placeText(call)).slice(0, 8)}`
}

/** The call that started the agent at a place; undefined for other places. */
export function callOfAgent(place: Place): { readonly call: Place; readonly name: string } | undefined {
  const [tool, agent] = place.slice(-2)
  if (agent?.kind !== 'agent' || tool?.kind !== 'tool' || tool.name !== taskTool) return undefined
  return { call: place.slice(0, -1), name: agent.name }
}

/** The innermost agent of a place (as text): `reader a1b2c3d4e`, for a team only its role. Undefined: none. */
export function agentOf(place: string): string | undefined {
  const path = originOf(parsePlace(place))
  const names = path.map((step, index) => {
    const given = callOfAgent(path.slice(0, index + 1))
    if (given !== undefined) return `${given.name} ${agentIdAt(given.call)}`
    const tool = path[index - 1]
    return step.kind === 'agent' && tool?.kind === 'tool' && spawnTools.has(tool.name) ? step.name : undefined
  })
  return names.findLast((name) => name !== undefined)
}

/**
 * Who works at a place (as text), in plain words: an agent by its name, a step or member by its own, a task by its number if it
 * is not the first; empty for the main agent.
 */
export function askerText(place: string): string {
  const agent = agentOf(place)
  if (agent !== undefined) return harmlessName(agent)
  const path = originText(place)
  const [, task] = /^(?:\w+\/\d+\/)*?(?:main\/)?task\/(\d+)(?=\/|$)/.exec(path) ?? []
  const [, kind, name] = /^.*\/(step|member)\/([^/#]+)/.exec(path) ?? []
  const [, script] = /^.*(?:^|\/)(?:pre|pre_task|post_task|post)\/\d+:([^/#]+)/.exec(path) ?? []
  return [
    ...(task === undefined || task === '0' ? [] : [`task ${Number(task) + 1}`]),
    ...(name === undefined ? [] : [`${kind} ${harmlessName(name)}`]),
    ...(script === undefined ? [] : [harmlessName(script)]),
  ].join(', ')
}

const started = String.raw`/tool/\d+:(?:${[taskTool, ...spawnTools].join('|')})/agent/[^/#]+`
const startedAround = new RegExp(`^.*${started}`)
const startedAt = new RegExp(String.raw`^(.*${started})(?:/input/(\d+))?$`)

/** The place of the innermost agent that a model started, at or around a place (as text); undefined: none. */
export function startedAgentAround(place: string): string | undefined {
  return place.includes('/agent/') ? startedAround.exec(place)?.[0] : undefined
}

/** The agent that a model started at exactly this place (as text), and the index of its input; undefined: none. */
export function startedAgentAt(place: string): { readonly agent: string; readonly input: number } | undefined {
  const [, agent, input = '0'] = (place.includes('/agent/') && startedAt.exec(place)) || []
  return agent === undefined ? undefined : { agent, input: Number(input) }
}

/** Whether the agent at a place (as text), or the one whose input is there, was started for a team. */
export function isOfTeam(place: string): boolean {
  const agent = startedAgentAt(place)?.agent
  return agent !== undefined && !agent.slice(0, agent.lastIndexOf('/agent/')).endsWith(`:${taskTool}`)
}

/** Where the conversation of the agent at a place is recorded. */
export function agentConversation(place: Place): Place {
  return conversationPlace([...place, part('ask')])
}

/** A prompt file whose model is called once, with messages from the caller. */
export interface FileConversation {
  readonly agent: PromptAgent
  /** Settings of the caller, merged over the file's own. */
  readonly options: JsonObject
  /** Defaults for what neither the file nor a config file sets. */
  readonly inherited: JsonObject
  /** Absolute; paths in the model's answer are relative to it. */
  readonly baseDir: string
  /** Maximum number of model calls, unless the file has a lower limit. */
  readonly maxTurns?: number
  readonly inbox?: Inbox
  /** The messages to send; `instructions` are those of the file. */
  readonly messages: (instructions: string) => readonly Message[]
  /** Called with the conversation once it is open. */
  readonly onOpen?: (session: Pick<AgentSession, 'prompts' | 'messages'>) => void
}

export interface FileAnswer extends Pick<ModelResult, 'end' | 'text' | 'messages'> {
  /** File changes made by its tools, with paths relative to the base folder. */
  readonly changes: readonly FileChange[]
  /** In a dry run: the file changes they would have made, by absolute path. */
  readonly planned: readonly { readonly path: string; readonly diff: string }[]
}
