import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createLineReader } from '../base/appended-lines.ts'
import { namesIn } from '../base/entries.ts'
import { cutEnd } from '../base/width.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { isObject } from '../base/json.ts'

/**
 * How a message of a chat is executed. `background`: the next message does not wait for it and does not know about it.
 */
export type MessageKind = 'message' | 'summary' | 'background'

export interface ListedMessage {
  readonly kind: MessageKind
  /** The run that answers it. */
  readonly run: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** The start of the text; secrets are masked. */
  readonly text: string
}

/** A chat as listed: its messages whose runs exist, oldest first. At least one. */
export interface ListedChat {
  readonly id: string
  readonly messages: readonly ListedMessage[]
}

const listName = 'chats.jsonl'
/** Only the owner may read the messages. */
const mode = 0o600
/** In columns. */
export const longestText = 200

/** The folder for what is open in chats, beside the runs; created if it does not exist. @throws errors of the system */
export function chatFolder(runs: string): string {
  const folder = join(runs, 'chats')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** Records a message whose run has started. @throws BatonError FILE_FAILED */
export function listMessage(runs: string, chat: string, message: ListedMessage): void {
  addLines(runs, [lineOf(chat, message)])
}

/** Records a new chat that begins with messages of another one. @throws BatonError FILE_FAILED */
export function listFork(runs: string, chat: string, messages: readonly ListedMessage[]): void {
  addLines(
    runs,
    messages.map((message) => lineOf(chat, message)),
  )
}

/**
 * Records that a chat went back: its messages after the one of a run no longer belong to it; undefined: none of those so
 * far does.
 * @throws BatonError FILE_FAILED
 */
export function listRewind(runs: string, chat: string, run: string | undefined): void {
  addLines(runs, [{ v: 1, chat, kind: rewindKind, run: run ?? '', at: Date.now(), text: '' }])
}

const rewindKind = 'rewind'

function lineOf(chat: string, { text, ...message }: ListedMessage): object {
  return { v: 1, chat, ...message, text: cutEnd(text.replaceAll(/\s+/g, ' ').trim(), longestText) }
}

function addLines(runs: string, lines: readonly object[]): void {
  try {
    mkdirSync(runs, { recursive: true, mode: 0o700 })
    const file = join(runs, listName)
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    // a line that was cut off must not take this one with it
    appendFileSync(file, `${endsWithLine(file) ? '' : '\n'}${text}`, { mode })
  } catch (error) {
    const hint = 'The chat continues, but --continue cannot find it later.'
    throw new BatonError('FILE_FAILED', `${join(runs, listName)} cannot be written: ${messageOf(error)}`, { hint })
  }
}

function endsWithLine(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return true
  const descriptor = openSync(file, 'r')
  try {
    const last = Buffer.alloc(1)
    readSync(descriptor, last, 0, 1, size - 1)
    return last[0] === 10
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The chats of a workspace, the one with the newest message first. Unreadable lines are skipped.
 * @param taken messages whose runs may not exist yet
 */
export function listChats(runs: string, taken: readonly Line[] = []): readonly ListedChat[] {
  const log = createLog()
  const { lines } = createLineReader(join(runs, listName))()
  for (const line of [...lines.map(readLine), ...taken]) log.add(line)
  return existingChats(log.chats, new Set([...namesIn(runs), ...taken.map(({ run }) => run)]))
}

/** The chat of a run, as shown in lists. */
export interface ChatOfRun {
  readonly id: string
  /** The start of the message that the run answers. */
  readonly message: string
  /** The start of the first message of the chat. */
  readonly first: string
}

/** The chats of a workspace for a process that asks again and again: it reads only what was added. */
export interface ChatReader {
  /** As `listChats` returns them. */
  readonly list: () => readonly ListedChat[]
  /** The chat that a run is a message of; of several, the first that had it. */
  readonly chatOf: (run: string) => ChatOfRun | undefined
}

/** Milliseconds between looks at the list: thousands of runs are searched in one go. */
const lookMs = 100

export function createChatReader(runs: string): ChatReader {
  const readLines = createLineReader(join(runs, listName))
  let log = createLog()
  let readAt = Number.NEGATIVE_INFINITY

  function read(): void {
    readAt = performance.now()
    const { lines, isReplaced } = readLines()
    if (isReplaced) log = createLog()
    for (const line of lines) log.add(readLine(line))
  }

  return {
    list() {
      read()
      return existingChats(log.chats, new Set(namesIn(runs)))
    },
    chatOf(run) {
      if (performance.now() - readAt >= lookMs) read()
      const of = log.messages.get(run)
      if (of === undefined) return undefined
      const { chat, text } = of
      const first = log.chats.get(chat)?.find((message) => message.run === run || existsSync(join(runs, message.run)))
      return { id: chat, message: text, first: first?.text ?? text }
    },
  }
}

function existingChats(
  chats: ReadonlyMap<string, readonly ListedMessage[]>,
  present: ReadonlySet<string>,
): readonly ListedChat[] {
  return [...chats]
    .map(([id, messages]) => ({ id, messages: messages.filter(({ run }) => present.has(run)) }))
    .filter(({ messages }) => messages.length > 0)
    .toReversed()
}

/** What the lines say so far. */
interface ChatLog {
  /** The chat with the newest message is the last. */
  readonly chats: ReadonlyMap<string, readonly ListedMessage[]>
  /** The messages by their runs. */
  readonly messages: ReadonlyMap<string, Line>
  readonly add: (line: FileLine | undefined) => void
}

function createLog(): ChatLog {
  const chats = new Map<string, ListedMessage[]>()
  const messages = new Map<string, Line>()
  const seen = new Set<string>()

  function goBack(chat: string, run: string): void {
    const all = chats.get(chat) ?? []
    const left = all.splice(all.findLastIndex((message) => message.run === run) + 1)
    for (const message of left) if (messages.get(message.run)?.chat === chat) messages.delete(message.run)
  }

  return {
    chats,
    messages,
    add(line) {
      if (line === undefined) return
      if (isRewind(line)) return goBack(line.chat, line.run)
      const { chat, ...message } = line
      const key = `${chat} ${line.run}`
      if (seen.has(key)) return
      seen.add(key)
      const all = chats.get(chat) ?? []
      all.push(message)
      // newest last
      chats.delete(chat)
      chats.set(chat, all)
      if (!messages.has(line.run)) messages.set(line.run, line)
    },
  }
}

/**
 * Finds a chat by its id or the start of its id; `last`: the newest.
 * @throws BatonError USAGE if there is none, or several
 */
export function findChat(runs: string, id: string, taken: readonly Line[] = []): ListedChat {
  const chats = listChats(runs, taken)
  const hint = 'See baton chat --list.'
  if (id === 'last') {
    const [newest] = chats
    if (newest === undefined)
      throw new BatonError('USAGE', 'there is no chat in this workspace yet', { hint: 'Start one with baton chat.' })
    return newest
  }
  const exact = chats.find((chat) => chat.id === id)
  const found = exact === undefined ? chats.filter((chat) => chat.id.startsWith(id)) : [exact]
  const [only] = found
  if (only === undefined || id === '')
    throw new BatonError('USAGE', `there is no chat "${id}" in this workspace`, { hint })
  if (found.length > 1) {
    throw new BatonError('USAGE', `"${id}" matches ${found.length} chats`, {
      hint: `They are: ${found.map((chat) => chat.id).join(', ')}.`,
    })
  }
  return only
}

export interface Line extends ListedMessage {
  readonly chat: string
}

type FileLine = Line | (Omit<Line, 'kind'> & { readonly kind: typeof rewindKind })

function isRewind(line: FileLine): line is Exclude<FileLine, Line> {
  return line.kind === rewindKind
}

const kinds: readonly FileLine['kind'][] = ['message', 'summary', 'background', rewindKind]

function readLine(line: string): FileLine | undefined {
  try {
    const value: unknown = JSON.parse(line)
    if (!isObject(value)) return undefined
    const { chat, run, at, text } = value
    const kind = kinds.find((one) => one === value['kind'])
    if (kind === undefined || typeof chat !== 'string' || typeof run !== 'string') return undefined
    return { chat, kind, run, at: Number(at), text: String(text) }
  } catch {
    return undefined
  }
}
