import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, messageOf } from '../base/error.ts'
import { createSigner } from '../base/hash.ts'
import { isObject, mapTexts } from '../base/json.ts'
import { adviceFor, isForbidden } from '../journal/failure.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { isSameSignature, type SigningKey } from '../journal/signing.ts'
import { chatFolder, type ListedMessage } from './chat-list.ts'
import type { ChatSettings, Outgoing } from './chat.ts'
import { writeWholeFile } from '../base/private-file.ts'

/**
 * A message that was taken, with everything that starts its run. It is on disk until its run is recorded, so a process
 * that is killed in between loses no message.
 */
export interface PendingMessage extends ListedMessage {
  readonly chat: string
  readonly outgoing: Outgoing
  readonly settings: ChatSettings
  /** What happened before it, for the model. */
  readonly notes: readonly string[]
  /** The run of the message before it. */
  readonly after?: string
}

export interface PendingOptions {
  readonly runs: string
  readonly mask: SecretMask
  /** What is carried out later must be of this installation. */
  readonly key: SigningKey
}

const ending = '.message'

function fileOf(runs: string, run: string): string {
  return join(runs, 'chats', `${run}${ending}`)
}

/**
 * Puts a message on disk. A folder in which nothing can be written keeps no messages.
 * @throws BatonError FILE_FAILED
 */
export function storePendingMessage(message: PendingMessage, { runs, mask, key }: PendingOptions): void {
  const text = JSON.stringify(mapTexts(message, mask.mask))
  try {
    chatFolder(runs)
    writeWholeFile(fileOf(runs, message.run), `${signatureOf(text, key)}\n${text}`, { flush: true })
  } catch (error) {
    if (isForbidden(error)) return
    throw new BatonError('FILE_FAILED', `the message cannot be recorded in ${runs}: ${messageOf(error)}`, {
      hint: `Nothing was sent. ${adviceFor(error, 'set a different folder with dir in [runs]')}`,
      cause: error,
    })
  }
}

/** Removes it: its run is recorded, or it has failed visibly. */
export function removePendingMessage(runs: string, run: string): void {
  try {
    rmSync(fileOf(runs, run), { force: true })
  } catch (error) {
    // in a folder that cannot be written, none was recorded
    if (!isForbidden(error)) throw error
  }
}

/** The messages of all chats that were taken and not dropped, oldest first. Those of others are ignored. */
export function pendingMessages({ runs, mask, key }: PendingOptions): readonly PendingMessage[] {
  return namesIn(runs)
    .flatMap((name) => readTaken(join(runs, 'chats', name), key) ?? [])
    .map((message) => mapTexts(message, mask.unmask) as PendingMessage)
    .toSorted((left, right) => left.at - right.at)
}

function namesIn(runs: string): readonly string[] {
  try {
    return readdirSync(join(runs, 'chats')).filter((name) => name.endsWith(ending))
  } catch {
    return []
  }
}

function readTaken(file: string, key: SigningKey): PendingMessage | undefined {
  try {
    const [mac, text = ''] = readFileSync(file, 'utf8').split('\n', 2)
    const value: unknown = JSON.parse(text)
    if (!isSameSignature(signatureOf(text, key), mac) || !isObject(value)) return undefined
    return value as unknown as PendingMessage
  } catch {
    return undefined
  }
}

function signatureOf(text: string, key: SigningKey): string {
  return createSigner(key).update(`message of a chat\n${text}`).digest('hex')
}
