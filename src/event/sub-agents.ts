import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import type { AgentSession, ModelResult, PromptAgent } from './agent.ts'
import type { FileChange } from './event.ts'
import type { Inbox } from './inbox.ts'
import type { Message } from './message.ts'
import { conversationPlace, originOf, parsePlace, part, type Place, placeText } from './place.ts'

/** The tool by which a model gives work to an agent. */
export const taskTool = 'task'

/** The tool by which a model starts an agent of its team; the id of that one is in the record, not in its place. */
const spawnTool = 'spawn_agent'

/** The id of an agent that a call at this place gives work to: `a` and eight hex digits, the same in a resumed run. */
export function agentIdAt(call: Place): string {
  return `a${sha256(placeText(call)).slice(0, 8)}`
}

/** The call that gives work to the agent at a place; undefined for other places. */
export function callOfAgent(place: Place): { readonly call: Place; readonly name: string } | undefined {
  const [tool, agent] = place.slice(-2)
  if (agent?.kind !== 'agent' || tool?.kind !== 'tool' || tool.name !== taskTool) return undefined
  return { call: place.slice(0, -1), name: agent.name }
}

/** The innermost agent that a place, as text, is of: `reader a1b2c3d4e`, of a team only its role. Undefined: it is of none. */
export function agentOf(place: string): string | undefined {
  const path = originOf(parsePlace(place))
  const names = path.map((step, index) => {
    const given = callOfAgent(path.slice(0, index + 1))
    if (given !== undefined) return `${given.name} ${agentIdAt(given.call)}`
    const tool = path[index - 1]
    return step.kind === 'agent' && tool?.kind === 'tool' && tool.name === spawnTool ? step.name : undefined
  })
  return names.findLast((name) => name !== undefined)
}

/** Where the conversation of an agent is recorded that works at a place. */
export function agentConversation(place: Place): Place {
  return conversationPlace([...place, part('ask')])
}

/** A prompt file whose model is asked once, by a caller that brings the messages. */
export interface FileConversation {
  readonly agent: PromptAgent
  /** Settings of the caller, merged over the file's own. */
  readonly options: JsonObject
  /** What stands in for what neither the file nor a config file says. */
  readonly inherited: JsonObject
  /** Absolute: paths of its model are relative to it. */
  readonly baseDir: string
  /** How many model calls it may take, where the file allows no less. */
  readonly maxTurns?: number
  readonly inbox?: Inbox
  /** The messages that are sent; `instructions` are those of the file. */
  readonly messages: (instructions: string) => readonly Message[]
  /** Told of the conversation when it is open. */
  readonly onOpen?: (session: Pick<AgentSession, 'prompts' | 'messages'>) => void
}

/** What came of it. */
export interface FileAnswer extends Pick<ModelResult, 'end' | 'text' | 'messages'> {
  /** What its tools have changed in files, with paths from the base folder. */
  readonly changes: readonly FileChange[]
  /** What they would have changed in a dry run, by absolute path. */
  readonly planned: readonly { readonly path: string; readonly diff: string }[]
}
