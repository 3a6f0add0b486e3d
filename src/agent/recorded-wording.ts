import { isObject, type Json } from '../base/json.ts'
import { differsOnlyInOwnTexts, hasOwnText } from '../base/model-text.ts'
import type { RecordedRequest } from '../event/effects.ts'
import type { Message } from '../event/message.ts'
import { toolNames } from '../tool/toolbox/rows.ts'
import type { OfferedTools, RecordedMessages } from './message-log.ts'

/** What a request says that may contain texts of this program. */
export interface RequestTexts extends RecordedMessages {
  readonly tools: OfferedTools | undefined
}

interface Now extends RequestTexts {
  /** Tools that the conversation has and that its requests do not carry yet: those of earlier versions did. */
  readonly unsentTools?: OfferedTools
  /** Whether this program made a message, from what the record has anyway. */
  readonly isOwn: (message: Message) => boolean
}

/**
 * A request in the words in which it was recorded: the version that recorded it may have worded its own texts
 * differently, and had other tools of its own. What differs otherwise stays as it is now.
 */
export function withRecordedWording(now: Now, { request, sources, files }: RecordedRequest): RequestTexts {
  if (!isObject(request) || !Array.isArray(request['messages'])) return now
  const then = request as unknown as RequestTexts
  if (now.before?.count !== then.before?.count) return now
  return {
    messages: messagesAsRecorded(now, then.messages, files),
    tools: areSameTools(now, then.tools, sources) ? then.tools : now.tools,
    ...(then.before && { before: then.before }),
  }
}

function messagesAsRecorded(
  { messages, isOwn }: Now,
  then: readonly Message[],
  files: RecordedRequest['files'],
): readonly Message[] {
  const isMade = (message: Message): boolean => files === 'recorded' && isOwn(message)
  if (messages.length !== then.length) {
    return messages.every(isMade) && callsIn(messages) === callsIn(then) ? then : messages
  }
  return messages.map((message, index) => {
    const other = then[index] as Message
    if (message.role !== other.role) return message
    const isSame = isMade(message)
      ? callsIn([message]) === callsIn([other])
      : isSameValue(message, other) || (isOwn(message) && isSameValue(withArrows(message), withArrows(other)))
    return isSame ? other : message
  })
}

/** Numbers of lines in the form of earlier versions, also within JSON in a text. */
function withArrows(message: Message): Json {
  return JSON.parse(JSON.stringify(message).replaceAll(/(\d)\\+t/g, '$1→')) as Json
}

/** The ids of the calls whose results they are. */
function callsIn(messages: readonly Message[]): string {
  const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_result' ? [part.id] : [])))
  return ids.join('\n')
}

function areSameTools(
  { tools: now, unsentTools = [] }: Now,
  then: OfferedTools | undefined,
  sources: RecordedRequest['sources'],
): boolean {
  if (now === undefined || then === undefined) return now === then
  const sent = new Set(then.map(({ name }) => name))
  const known = [...now, ...unsentTools.filter(({ name }) => sent.has(name))]
  const recorded = new Map(then.map((tool) => [tool.name, tool]))
  const current = new Set(known.map(({ name }) => name))
  const areKept = then.every(({ name }) => current.has(name) || sources === 'recorded' || isGone(name))
  return areKept && known.every((tool) => isSameTool(tool, recorded.get(tool.name), sources))
}

function isSameTool(
  now: OfferedTools[number],
  then: OfferedTools[number] | undefined,
  sources: RecordedRequest['sources'],
): boolean {
  if (then === undefined) return sources === 'recorded'
  // then nothing but this program can make its own tools different: the description of one may name others
  if (sources === 'recorded' && hasOwnText(now.description)) return true
  if (!differsOnlyInOwnTexts(now.description, then.description)) return false
  // another version may have other parameters
  return hasOwnText(now.description) || isSameValue(now.parameters, then.parameters)
}

/** Whether no tool of this program, and none of a server, has the name. */
function isGone(name: string): boolean {
  return !name.includes('__') && !(toolNames as readonly string[]).includes(name)
}

function isSameValue(now: unknown, then: unknown): boolean {
  return differsOnlyInOwnTexts(JSON.parse(JSON.stringify(now)) as Json, JSON.parse(JSON.stringify(then)) as Json)
}
