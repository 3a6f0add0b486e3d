import { cutText } from '../base/cut-text.ts'
import { sha256 } from '../base/hash.ts'
import { canonicalJson, isJsonObject, isObject, type Json, plainText } from '../base/json.ts'
import { differsOnlyInOwnTexts, hasOwnText, modelText } from '../base/model-text.ts'
import type { RecordedRequest } from '../event/effects.ts'
import { type Message, textMessage } from '../event/message.ts'
import type { Prompt, PromptOutput, PromptTool } from '../event/prompt.ts'
import type { ModelRequest } from '../model/provider.ts'
import { toolNames } from '../tool/toolbox/rows.ts'
import type { Compaction } from './compaction.ts'

/** The new messages of a request, so that a journal grows only with the conversation. */
export type RecordedMessages = {
  readonly messages: readonly Message[]
  readonly before?: { readonly count: number; readonly hash: string }
  /** How the conversation is made shorter: for this request, or by the summary that this request asks for. */
  readonly compaction?: Compaction
}

/** The messages of a conversation, and how many of them are recorded. */
export interface MessageLog {
  readonly all: () => readonly Message[]
  readonly add: (messages: readonly Message[]) => void
  /** Adds the messages of a prompt; what was said in earlier conversations may come first. */
  readonly addPrompt: (messages: readonly Message[]) => void
  /** Whether a message belongs to the prompt that is being answered. */
  readonly isOfPrompt: (position: number) => boolean
  /** Adds messages that this program makes from what the record has anyway: results of tools, mail, feedback. */
  readonly addOwn: (messages: readonly Message[]) => void
  readonly isOwn: (message: Message) => boolean
  /** Instructions of modes that it has, in the words of this version. */
  readonly instructions: Set<string>
  /** Replaces the messages since the last answer by those of a request that an earlier process recorded. */
  readonly takeNext: (recorded: RecordedMessages) => void
  /** The messages since the last answer; earlier ones are recorded already. */
  readonly next: () => RecordedMessages
  /** Adds an answer of the model, which is recorded by its call; undefined: it is empty. */
  readonly answered: (message: Message | undefined) => void
  /** The first messages, of which only a hash is recorded. */
  readonly hashOf: (count: number) => RecordedMessages['before']
  /**
   * Replaces all messages by fewer ones, which the next request records in full. Those that were not there before are
   * own ones.
   * @param positionOf where a message is now; undefined: it is gone
   */
  readonly replace: (messages: readonly Message[], positionOf: (position: number) => number | undefined) => void
}

interface LogOptions {
  /** Messages that another run has recorded: wherever they are, only their hash is recorded. */
  readonly said?: readonly Message[] | undefined
  /** Replaces machine-specific paths and secrets in a text before it is hashed. Default: no change. */
  readonly portable?: ((text: string) => string) | undefined
}

export function createMessageLog({ said = [], portable = (text) => text }: LogOptions = {}): MessageLog {
  const textOf = (some: readonly Message[]): string => portable(canonicalText(some))
  const elsewhere = new Set(said)
  let prompt: ReadonlySet<number> = new Set()
  const messages: Message[] = []
  let recorded = 0
  let hashed = 0
  let hash = ''
  let saidHash: string | undefined
  const own = new WeakSet<Message>()
  return {
    all: () => [...messages],
    add: (added) => void messages.push(...added),
    addOwn(added) {
      for (const message of added) own.add(message)
      messages.push(...added)
    },
    addPrompt(added) {
      const answered = added.findLastIndex(({ role }) => role === 'assistant' || role === 'tool')
      const first = messages.length
      prompt = new Set(
        added.flatMap((message, index) => (index > answered && !elsewhere.has(message) ? [first + index] : [])),
      )
      messages.push(...added)
    },
    isOfPrompt: (position) => prompt.has(position),
    isOwn: (message) => own.has(message),
    instructions: new Set(),
    takeNext({ messages: taken, before }) {
      if (recorded > 0 || elsewhere.size === 0) return void messages.splice(recorded, Infinity, ...taken)
      saidHash = before?.hash
      const fresh = messages.flatMap((message, index) => (elsewhere.has(message) ? [] : [index]))
      for (const [number, index] of fresh.entries()) messages[index] = taken[number] ?? (messages[index] as Message)
    },
    next() {
      const fresh = messages.slice(recorded)
      if (recorded === 0 && elsewhere.size === 0) return { messages: fresh }
      if (recorded === 0) {
        const before = { count: said.length, hash: saidHash ?? sha256(textOf(said)) }
        return { before, messages: fresh.filter((message) => !elsewhere.has(message)) }
      }
      if (hashed < recorded) hash = sha256(`${hash} ${textOf(messages.slice(hashed, recorded))}`)
      hashed = recorded
      return { before: { count: recorded, hash }, messages: fresh }
    },
    answered(message) {
      if (message !== undefined) messages.push(message)
      recorded = messages.length
    },
    hashOf: (count) => ({ count, hash: sha256(textOf(messages.slice(0, count))) }),
    replace(others, positionOf) {
      const before = new Set(messages)
      for (const message of others) if (!before.has(message)) own.add(message)
      prompt = new Set([...prompt].flatMap((position) => positionOf(position) ?? []))
      messages.splice(0, Infinity, ...others)
      elsewhere.clear()
      recorded = 0
      hashed = 0
      hash = ''
    },
  }
}

/** The same text for values of this process and for values read from a record. */
export function canonicalText(value: readonly Message[] | Json): string {
  return canonicalJson(JSON.parse(JSON.stringify(value)) as Json)
}

export type OfferedTools = NonNullable<ModelRequest['tools']>

/** What a request says that may contain texts of this program. */
export interface Said extends RecordedMessages {
  readonly tools: OfferedTools | undefined
}

interface Now extends Said {
  /** Tools that the conversation has and that its requests do not carry yet: those of earlier versions did. */
  readonly unsentTools?: OfferedTools
  /** Whether this program made a message, from what the record has anyway. */
  readonly isOwn: (message: Message) => boolean
}

/**
 * A request in the words in which it was recorded: the version that recorded it may have worded its own texts
 * differently, and had other tools of its own. What differs otherwise stays as it is now.
 */
export function withRecordedWording(now: Now, { request, sources, files }: RecordedRequest): Said {
  if (!isObject(request) || !Array.isArray(request['messages'])) return now
  const then = request as unknown as Said
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

/** Characters of a tool's line. */
const mostCharacters = 2000

/**
 * Earlier prompts as messages, oldest first, depending on the outputs and not on the mode: text and
 * programs become assistant messages, the result of a program a user message, any other tool one line of a user
 * message.
 */
export function historyMessages(prompts: readonly Prompt[]): readonly Message[] {
  return prompts.flatMap(({ input = '', output }) => [
    ...(input === '' ? [] : [textMessage('user', input)]),
    ...output.flatMap(outputMessages),
  ])
}

function outputMessages(output: PromptOutput): readonly Message[] {
  switch (output.type) {
    case 'text':
      return output.text === '' || output.note === true ? [] : [textMessage('assistant', output.text)]
    case 'file':
      return [{ role: 'user', parts: [output.file] }]
    case 'tool':
      return output.function === 'code.execute' ? programMessages(output) : [textMessage('user', toolLine(output))]
  }
}

function programMessages(output: PromptTool): readonly Message[] {
  const code = isJsonObject(output.input) ? output.input['code'] : undefined
  const result = resultText(output)
  return [
    textMessage('assistant', typeof code === 'string' ? code : plainText(output.input)),
    ...(result === '' ? [] : [textMessage('user', result)]),
  ]
}

/** `tool(input) → result`. */
function toolLine(output: PromptTool): string {
  return cutText(`${output.function}(${plainText(output.input)}) → ${resultText(output)}`, mostCharacters)
}

function resultText({ result }: PromptTool): string {
  switch (result.type) {
    case 'success':
      return result.output
    case 'error':
      return modelText`error: ${result.error}`
    case 'pending':
      return modelText`not finished`
  }
}
