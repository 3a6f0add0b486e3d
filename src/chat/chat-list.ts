import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cutEnd } from '../base/width.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { isObject } from '../base/json.ts'

/** How a message of a chat is worked on. `background`: what is said next does not wait for it, and does not know of it. */
export type MessageKind = 'message' | 'summary' | 'background'

/** A message of a chat, as it is listed. */
export interface ListedMessage {
  readonly kind: MessageKind
  /** The run that answers it. */
  readonly run: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** The beginning of what was said; secrets hidden. */
  readonly text: string
}

/** A chat as it is listed: its messages whose runs are there, the oldest first. At least one. */
export interface ListedChat {
  readonly id: string
  readonly messages: readonly ListedMessage[]
}

const listName = 'chats.jsonl'
/** Only the owner may read what was said. */
const mode = 0o600
const longestText = 200

/** Notes a message whose run has begun. @throws BatonError FILE_FAILED */
export function listMessage(runs: string, chat: string, { text, ...message }: ListedMessage): void {
  const line = { v: 1, chat, ...message, text: cutEnd(text.replaceAll(/\s+/g, ' ').trim(), longestText) }
  try {
    mkdirSync(runs, { recursive: true, mode: 0o700 })
    appendFileSync(join(runs, listName), `${JSON.stringify(line)}\n`, { mode })
  } catch (error) {
    const hint = 'The chat goes on, but cannot be found again by --continue.'
    throw new BatonError('FILE_FAILED', `${join(runs, listName)} cannot be written: ${messageOf(error)}`, { hint })
  }
}

/** The chats of a workspace, the one with the newest message first. Lines that cannot be read are passed over. */
export function listChats(runs: string): readonly ListedChat[] {
  const chats = new Map<string, ListedMessage[]>()
  for (const { chat, ...message } of linesOf(join(runs, listName))) {
    if (!existsSync(join(runs, message.run))) continue
    const messages = chats.get(chat) ?? []
    // the newest comes last
    chats.delete(chat)
    chats.set(chat, [...messages, message])
  }
  return [...chats].map(([id, messages]) => ({ id, messages })).toReversed()
}

/**
 * The chat that an id, or the beginning of one, means; `last`: the newest.
 * @throws BatonError USAGE when there is none, or several
 */
export function findChat(runs: string, id: string): ListedChat {
  const chats = listChats(runs)
  const hint = 'See baton chat --list.'
  if (id === 'last') {
    const [newest] = chats
    if (newest === undefined)
      throw new BatonError('USAGE', 'there is no chat in this workspace yet', { hint: 'Begin one with baton chat.' })
    return newest
  }
  const exact = chats.find((chat) => chat.id === id)
  const found = exact === undefined ? chats.filter((chat) => chat.id.startsWith(id)) : [exact]
  const [only] = found
  if (only === undefined || id === '')
    throw new BatonError('USAGE', `there is no chat "${id}" in this workspace`, { hint })
  if (found.length > 1) {
    throw new BatonError('USAGE', `"${id}" is the beginning of ${found.length} chats`, {
      hint: `They are: ${found.map((chat) => chat.id).join(', ')}.`,
    })
  }
  return only
}

interface Line extends ListedMessage {
  readonly chat: string
}

function linesOf(file: string): readonly Line[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => readLine(line) ?? [])
}

const kinds: readonly MessageKind[] = ['message', 'summary', 'background']

function readLine(line: string): Line | undefined {
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
