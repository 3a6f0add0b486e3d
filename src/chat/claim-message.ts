import { basename, dirname } from 'node:path'
import { readValue } from '../journal/cassette.ts'
import { chatPlaceOf } from '../journal/chat-place.ts'
import { readRunState } from '../journal/run-state.ts'
import { noMask } from '../journal/secrets.ts'
import { listChats } from './chat-list.ts'
import { type ChatLease, claimChat, resuming } from './chat-owner.ts'

/**
 * Opens the chats that a run is a message of, while it is resumed outside of them: nobody may send the next message
 * before this one has ended. A run of no chat, or in the background of one, needs nothing.
 * @param folder the folder of the run
 * @param cwd the folder of the process, for messages
 * @throws BatonError USAGE if a chat is open in a process
 */
export async function claimMessage(folder: string, cwd: string): Promise<ChatLease> {
  const [runs, run] = [dirname(folder), basename(folder)]
  const start = (await readRunState(folder))?.start
  const place = start && chatPlaceOf(await readValue(start.facts, { folder, mask: noMask }))
  const leases: ChatLease[] = []
  const release = (): void => leases.forEach((lease) => lease.release())
  if (place === undefined || place.isBackground === true) return { release }
  const copies = listChats(runs).filter(({ messages }) => messages.some((message) => message.run === run))
  try {
    for (const id of new Set([place.id, ...copies.map((chat) => chat.id)]))
      leases.push(await claimChat(runs, id, { what: resuming, cwd }))
    return { release }
  } catch (error) {
    release()
    throw error
  }
}
