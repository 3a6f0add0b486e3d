import { readFileSync } from 'node:fs'
import { isObject, mapTexts } from '../base/json.ts'
import { modelText } from '../base/model-text.ts'
import { endGroup } from '../base/process-group.ts'
import { cutEnd } from '../base/width.ts'
import { sessionFile } from '../journal/chat-place.ts'
import { type Owner, processOwners } from '../journal/owner.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { SessionState } from '../wiring/session-resources.ts'
import { chatFolder } from './chat-list.ts'
import { writeWholeFile } from '../base/private-file.ts'

/** What the session of a chat had when the chat was left, or its process killed. */
type StoredSession = SessionState & { readonly owner: Owner }

/** Keeps the state of a session for a later process, without secrets. A folder that cannot be written keeps none. */
export function storeSession(
  state: SessionState,
  chat: string,
  { runs, mask }: { readonly runs: string; readonly mask: SecretMask },
): void {
  const stored: StoredSession = { ...state, owner: processOwners.self() }
  try {
    chatFolder(runs)
    writeWholeFile(sessionFile(runs, chat), JSON.stringify(mapTexts(stored, mask.hide)))
  } catch {
    // the chat goes on; a later process knows less about it
  }
}

/** What a session of a chat had; undefined: it had nothing that outlives a message. */
export function readSession(runs: string, chat: string): StoredSession | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(sessionFile(runs, chat), 'utf8'))
    const lists = isObject(value) ? ['servers', 'commands', 'jobs', 'processes'].map((key) => value[key]) : []
    return lists.length > 0 && lists.every(Array.isArray) ? (value as unknown as StoredSession) : undefined
  } catch {
    return undefined
  }
}

/** Ends what a killed process left running: on this machine, if its leaders still exist. */
export async function endLeftoverProcesses({ processes, owner }: StoredSession): Promise<void> {
  const isLeft = processOwners.isVisible(owner) && !(await processOwners.isAlive(owner))
  if (isLeft) await Promise.all(processes.map(endGroup))
}

/** What a model is told when a later process continues the chat; undefined: nothing was lost. */
export function lossText({ servers, commands }: SessionState): string | undefined {
  const lines = commands.map(({ id, line }) => `${id} (${cutEnd(line.replaceAll(/\s+/g, ' '), 80)})`).join(', ')
  const texts = [
    servers.length === 0
      ? ''
      : modelText`Since the last message, the MCP servers of this chat were ended, and are started anew: what they had kept in memory is gone (${servers.join(', ')}).`,
    commands.length === 0
      ? ''
      : modelText`Since the last message, the commands that were running in the background have ended: ${lines}.`,
  ].filter((text) => text !== '')
  return texts.length === 0 ? undefined : texts.join(' ')
}
