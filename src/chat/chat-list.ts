import { appendFileSync, closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
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
  return createChatReader(runs)(taken)
}

/** Like `listChats`, for a process that asks again and again. */
export function createChatReader(runs: string): (taken?: readonly Line[]) => readonly ListedChat[] {
  const readLines = createLineReader(join(runs, listName), readLine)
  return (taken = []) => {
    const existing = new Set([...namesIn(runs), ...taken.map(({ run }) => run)])
    return [...messagesByChat([...readLines(), ...taken])]
      .map(([id, messages]) => ({ id, messages: messages.filter(({ run }) => existing.has(run)) }))
      .filter(({ messages }) => messages.length > 0)
      .toReversed()
  }
}

/** The chat with the newest message is the last. */
function messagesByChat(lines: readonly (FileLine | undefined)[]): ReadonlyMap<string, readonly ListedMessage[]> {
  const chats = new Map<string, ListedMessage[]>()
  const seen = new Set<string>()
  for (const line of lines) {
    if (line === undefined) continue
    const { chat, ...message } = line
    const messages = chats.get(chat) ?? []
    if (message.kind === rewindKind) {
      messages.splice(messages.findLastIndex(({ run }) => run === message.run) + 1)
      continue
    }
    const key = `${chat} ${message.run}`
    if (seen.has(key)) continue
    seen.add(key)
    messages.push(message as ListedMessage)
    // newest last
    chats.delete(chat)
    chats.set(chat, messages)
  }
  return chats
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
