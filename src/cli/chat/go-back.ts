import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import { cutEnd } from '../../base/width.ts'
import { type ChatMessage, forkChat } from '../../chat/chat.ts'
import { openSigningKey } from '../../journal/signing.ts'
import { noMask } from '../../journal/secrets.ts'
import { isActive } from '../../journal/summary.ts'
import { undoneBy } from '../../journal/undo-mark.ts'
import { countOf } from '../../render/format.ts'
import { openChanges } from '../../undo/open-changes.ts'
import type { UndoneItem } from '../../undo/perform.ts'
import { undoRuns } from '../../undo/several.ts'
import { maskFor } from '../../wiring/run-context.ts'
import { usageError } from '../command.ts'
import { type WorkspaceRuns, workspaceRuns } from '../runs-folder.ts'
import type { Session } from './session.ts'

/** Columns of a message in the list. */
const shownText = 100
/** How many messages are listed. */
const mostListed = 30
/** How many files are named in one line. */
const mostNamed = 10

/** `/fork [N]`: goes on after message N, by default the last, in a copy of the chat. Files stay as they are. */
export async function fork(rest: string, session: Session): Promise<void> {
  const before = session.chat
  const messages = numbered(await before.messages())
  const id = before.id()
  if (id === undefined || messages.length === 0) throw usageError('there are no messages yet', 'Send one first.')
  const number = rest === '' ? messages.length : numberIn(rest, { least: 1, most: messages.length, usage: '/fork [N]' })
  const upTo = messages[number - 1]?.run
  session.chat = await forkChat(session.host, id, {
    ...(rest === '' || upTo === undefined ? {} : { upTo }),
    changed: before.settings(),
  })
  await before.close()
  const after = rest === '' ? '' : ` after message ${number}`
  session.say(`continued${after} in a copy: ${session.chat.id() ?? ''}; /resume ${id} goes back to the original`)
}

/**
 * `/rewind [N]`: goes back to where message N was answered, and restores what the runs after it have changed, or does
 * nothing at all; without N it lists the messages.
 */
export async function rewind(rest: string, session: Session): Promise<void> {
  const { chat, flags, around, say } = session
  const usage = '/rewind [N] [--keep-files]'
  const words = rest.split(/\s+/).filter((word) => word !== '')
  const keepsFiles = words.includes('--keep-files')
  const [word, ...more] = words.filter((one) => one !== '--keep-files')
  if (more.length > 0) throw usageError('/rewind takes one number', `Usage: ${usage}`)
  const all = await chat.messages()
  const messages = numbered(all)
  if (messages.length === 0) throw usageError('there are no messages yet to go back to', 'Send one first.')
  const runs = await workspaceRuns(flags, around)
  if (word === undefined) return list(messages, runs, session)

  const number = numberIn(word, { least: 0, most: messages.length, usage })
  const target = number === 0 ? undefined : messages[number - 1]
  const dropped = target === undefined ? all : all.slice(all.findIndex(({ run }) => run === target.run) + 1)
  if (dropped.length === 0) return say(`message ${number} is the last one`)
  const working = dropped.find(({ summary }) => isActive(summary.status))
  if (working !== undefined)
    throw usageError(`${working.run} is still working in the background`, `Stop it first: /stop ${working.run}`)
  if (!keepsFiles) await restoreFiles(dropped, runs, session)
  await chat.rewind(target?.run)
  if (keepsFiles) chat.note('We went back to this point of our conversation; files may have changed since.')
  const where = target === undefined ? 'the beginning' : `message ${number}: ${shown(target)}`
  say(`went back to ${where}`)
}

/** Nothing is restored if something cannot be. @throws BatonError USAGE that names the files */
async function restoreFiles(
  dropped: readonly ChatMessage[],
  { folder, workspace, settings }: WorkspaceRuns,
  { around: { env, home }, io, say }: Session,
): Promise<void> {
  const folders = dropped.toReversed().map(({ run }) => join(folder, run))
  const undone = await undoRuns(folders, {
    workspace: realpathSync(workspace),
    env,
    home,
    mask: await maskFor({ settings }, env),
    key: openSigningKey({ env, home }),
    signal: io.signal,
  })
  if (undone.kind === 'refused') {
    const files = undone.items.map(({ path, why = '' }) => `${harmlessName(path)} (${harmless(why)})`)
    throw new BatonError('USAGE', `nothing was changed, because files cannot be restored: ${files.join(', ')}`, {
      hint: `/rewind N --keep-files goes back and leaves all files as they are; baton runs show ${undone.run} --diff shows what the run did.`,
    })
  }
  const items = undone.reports.flatMap((report) => report.items)
  const names = [...new Set(items.filter(isRestored).map(({ path }) => harmlessName(path)))].toSorted()
  const rest = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
  if (names.length > 0) say(`restored ${names.slice(0, mostNamed).join(', ')}${rest}`)
}

function isRestored({ outcome, isFolder }: UndoneItem): boolean {
  return outcome !== 'as_before' && isFolder !== true
}

/** What users count: the messages they sent, without summaries and work in the background. */
function numbered(all: readonly ChatMessage[]): readonly ChatMessage[] {
  return all.filter(({ kind }) => kind === 'message')
}

function numberIn(
  word: string,
  { least, most, usage }: { readonly least: number; readonly most: number; readonly usage: string },
): number {
  const number = /^\d{1,9}$/.test(word) ? Number(word) : Number.NaN
  if (number >= least && number <= most) return number
  throw usageError(
    `${JSON.stringify(word)} is not the number of a message (${least} to ${most})`,
    `Usage: ${usage}. /rewind lists the messages.`,
  )
}

async function list(messages: readonly ChatMessage[], { folder }: WorkspaceRuns, { say }: Session): Promise<void> {
  const width = String(messages.length).length
  const first = Math.max(0, messages.length - mostListed)
  if (first > 0) say(`(${countOf(first, 'earlier message')})`)
  for (const [index, message] of messages.entries()) {
    if (index < first) continue
    const { changes } = await openChanges(join(folder, message.run), noMask)
    const isUndone = undoneBy(join(folder, message.run)) !== undefined
    const changed =
      changes.length === 0 ? '' : `  ${isUndone ? 'undone' : `${countOf(changes.length, 'file')} changed`}`
    say(`${String(index + 1).padStart(width)}  ${shown(message)}${changed}`)
  }
  say(
    '/rewind N goes back to where N was answered, 0 to the beginning, and restores the files; /fork N goes on in a copy',
  )
}

function shown({ text }: ChatMessage): string {
  return harmless(cutEnd(text, shownText))
}
