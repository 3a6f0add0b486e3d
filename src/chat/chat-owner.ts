import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import { randomName } from '../base/random-name.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { adviceFor, isForbidden } from '../journal/failure.ts'
import { type Owner, processOwners } from '../journal/owner.ts'
import { beatMs, leaseMs } from '../journal/ownership.ts'
import { chatFolder } from './chat-list.ts'
import { writeWholeFile } from '../base/private-file.ts'

/** A process in which a chat is open. */
export interface ChatOwner extends Owner {
  /** What it is, for messages: `baton chat`. */
  readonly what: string
  /** The folder it works in. */
  readonly cwd: string
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Only the process that has it adds messages to a chat. */
export interface ChatLease {
  readonly release: () => void
}

const ending = '.owner'

/**
 * Opens a chat for this process alone. A process that was killed holds nothing.
 * @throws BatonError USAGE if another process, or this one, has it open
 */
export async function claimChat(
  runs: string,
  chat: string,
  { what, cwd }: Pick<ChatOwner, 'what' | 'cwd'>,
): Promise<ChatLease> {
  const owner: ChatOwner = { ...processOwners.self(), what, cwd, since: Date.now() }
  for (let tries = 0; ; tries += 1) {
    const before = await ownersOf(runs, chat)
    if (before[0] !== undefined) throw openElsewhere(chat, before[0])
    const file = announce(runs, chat, owner)
    // a folder that cannot be written holds no chat that another process could add to
    if (file === undefined) return { release: () => undefined }
    const [other] = await ownersOf(runs, chat, file)
    if (other === undefined) return lease(file)
    // both have announced themselves at the same moment: both step back, and one is earlier the next time
    rmSync(file, { force: true })
    if (tries === mostTries) throw openElsewhere(chat, other)
    await sleep(1 + Math.random() * 40)
  }
}

const mostTries = 5

/** Where a chat is open; undefined: nowhere. */
export async function ownerOfChat(runs: string, chat: string): Promise<ChatOwner | undefined> {
  return (await ownersOf(runs, chat))[0]
}

/** What a process is that has a chat only as long as it resumes one of its messages. */
export const resuming = 'baton resume'

function openElsewhere(chat: string, owner: ChatOwner): BatonError {
  const way = owner.what === resuming ? 'Wait until it has ended' : `End it there first: ${wayOut(chat, owner)}`
  return new BatonError('USAGE', `chat ${chat} is open in ${ownerText(owner)}`, {
    hint: `${way}. baton chat without --continue starts another chat.`,
  })
}

function wayOut(chat: string, { what }: ChatOwner): string {
  if (what === 'baton chat') return '/exit'
  return `"Close conversation" on its page, POST /api/conversations/${chat}/close, or ten minutes without a message`
}

/** `process 71 (baton chat in /project, since 2026-11-28T17:40:12.000Z)`. */
export function ownerText({ pid, host, what, cwd, since, ...owner }: ChatOwner): string {
  const where = processOwners.isVisible({ pid, host, ...owner }) ? '' : ` on ${host}`
  return `process ${pid}${where} (${harmlessName(what)} in ${harmlessName(cwd)}, since ${new Date(since).toISOString()})`
}

/** Returns the file that says it; undefined if the folder cannot be written. */
function announce(runs: string, chat: string, owner: ChatOwner): string | undefined {
  const name = `${chat}.${randomName()}`
  try {
    const file = join(chatFolder(runs), `${name}${ending}`)
    writeWholeFile(file, JSON.stringify(owner))
    return file
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw new BatonError('FILE_FAILED', `${runs} cannot be written: ${(error as Error).message}`, {
      hint: adviceFor(error, 'set a different folder with dir in [runs]'),
      cause: error,
    })
  }
}

/** Its file is touched regularly, for processes that cannot see this one. */
function lease(file: string): ChatLease {
  const timer = setInterval(() => {
    try {
      const now = new Date()
      utimesSync(file, now, now)
    } catch {
      // without it, only processes in other containers see a shorter lease
    }
  }, beatMs).unref()
  return {
    release() {
      clearInterval(timer)
      rmSync(file, { force: true })
    },
  }
}

/** The living owners of a chat, without the one of a file. Files of processes that are gone are removed, of any chat. */
async function ownersOf(runs: string, chat: string, except?: string): Promise<readonly ChatOwner[]> {
  const living: ChatOwner[] = []
  const folder = join(runs, 'chats')
  for (const name of namesIn(folder)) {
    const file = join(folder, name)
    if (!name.endsWith(ending) || file === except) continue
    const owner = readOwner(file)
    if (owner === undefined) continue
    if (!(await isAlive(owner, file))) rmSync(file, { force: true })
    else if (name.startsWith(`${chat}.`)) living.push(owner)
  }
  return living
}

async function isAlive(owner: ChatOwner, file: string): Promise<boolean> {
  if (processOwners.isVisible(owner)) return processOwners.isAlive(owner)
  const touched = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return touched + leaseMs > Date.now()
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Undefined for a file that was removed in the meantime, or says nothing. */
function readOwner(file: string): ChatOwner | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isObject(value) || typeof value['pid'] !== 'number' || typeof value['start'] !== 'string') return undefined
    return value as unknown as ChatOwner
  } catch {
    return undefined
  }
}
