import { basename, dirname, join, resolve } from 'node:path'
import { readdirSync } from 'node:fs'
import {
  type Chat,
  type ChatHost,
  type ChatSettings,
  forkChat,
  listAllChats,
  openChat,
  reopenChat,
} from '../../chat/chat.ts'
import { defined } from '../../base/json.ts'
import { harmless } from '../../base/terminal-text.ts'
import { stateFolder } from '../../journal/run-id.ts'
import { readRunSummary } from '../../history/run-list.ts'
import { countOf } from '../../render/format.ts'
import { fileCommands } from '../chat/file-commands.ts'
import { chatSession } from '../chat/session.ts'
import { joiningLines, pipedInput } from '../chat/input.ts'
import { terminalInput } from '../chat/terminal-input.ts'
import { openTypedHistory } from '../chat/typed-history.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { isAttended } from '../confirm.ts'
import { type CommandIo, openWorkplace, surroundings } from '../io.ts'
import { workspaceRuns } from '../runs-folder.ts'
import { builtinCommands } from '../chat/slash/builtin.ts'

/** `baton chat [FILE]`: a conversation in the terminal or from a pipe, whose last message decides the exit code. */
export async function chatCommand(flags: Flags<'chat'>, io: CommandIo): Promise<number> {
  if (flags.list) return listCommand(flags, io)
  if (flags.continue && flags.resume !== undefined) {
    throw usageError('--continue and --resume cannot be combined', 'Leave one of them out.')
  }
  const around = surroundings(flags, io)
  const { file, model, var: vars } = flags
  const overrides = overridesOf({ ...flags, timeout: undefined, iter: undefined, until: undefined })
  const id = flags.continue ? 'last' : flags.resume
  const given = {
    ...defined({ file, model }),
    ...(overrides.length === 0 ? {} : { overrides }),
    ...(vars.length === 0 ? {} : { vars }),
  }
  const host = { ...around, what: 'baton chat', keepsTaken: true }
  const chat = await chatOf(host, id, { forks: flags.fork, given })
  const terminal = isAttended(flags, io)
    ? terminalInput({
        io,
        prompt: '> ',
        history: openTypedHistory(join(stateFolder(around), 'chat-history.jsonl'), await chat.mask()),
        complete: async (text) => completeTyped(text, around.cwd, [...(await fileCommands(around)).byName.keys()]),
      })
    : undefined
  const input = terminal ?? joiningLines(pipedInput(io))
  try {
    return await chatSession({
      chat,
      host,
      flags,
      around,
      io,
      input,
      terminal,
      isReopened: id !== undefined,
    })
  } finally {
    input.close()
  }
}

async function chatOf(
  host: ChatHost,
  id: string | undefined,
  { forks, given }: { readonly forks: boolean; readonly given: Partial<ChatSettings> },
): Promise<Chat> {
  if (id !== undefined) return forks ? forkChat(host, id, { changed: given }) : reopenChat(host, id, given)
  if (forks) throw usageError('--fork needs the chat to copy', 'Add --continue, or --resume ID; see baton chat --list.')
  return openChat(host, { overrides: [], ...given })
}

async function listCommand(flags: Flags<'chat'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const { folder } = await workspaceRuns(flags, workplace)
  const chats = await listAllChats(workplace)
  for (const { id, messages } of chats) {
    const newest = messages.at(-1)
    const summary = newest && (await readRunSummary(join(folder, newest.run)))
    const row = {
      id,
      messages: messages.length,
      last: new Date(newest?.at ?? 0).toISOString(),
      status: summary?.status ?? 'interrupted',
      text: messages[0]?.text ?? '',
    }
    workplace.print(
      row,
      () =>
        `${row.id}  ${row.last.slice(0, 16).replace('T', ' ')}  ${countOf(row.messages, 'message')}  ${harmless(row.text)}\n`,
    )
  }
  if (chats.length === 0) workplace.note('no chats in this workspace yet; start one with baton chat\n')
  return 0
}

const mostOffered = 100

/**
 * Completions for Tab: command names after a slash, and paths after an `@`, which names a file.
 * @param text the text before the cursor
 * @param commands names of command files
 */
export async function completeTyped(
  text: string,
  cwd: string,
  commands: readonly string[] = [],
): Promise<{ readonly word: string; readonly options: readonly string[] }> {
  const [, name] = /^\/([\w:-]*)$/.exec(text) ?? []
  if (name !== undefined) {
    const all = [...Object.keys(builtinCommands), ...commands]
    return { word: text, options: all.filter((one) => one.startsWith(name)).map((one) => `/${one} `) }
  }
  const [word = '', path] = /@(\S*)$/.exec(text) ?? []
  return { word, options: path === undefined ? [] : pathsFor(path, cwd).map((one) => `@${one}`) }
}

/** Files and folders that complete a path; a folder ends with a slash, so that typing can continue. */
function pathsFor(path: string, cwd: string): readonly string[] {
  const folder = path.endsWith('/') ? path : path.includes('/') ? `${dirname(path)}/` : ''
  const begin = path.endsWith('/') ? '' : basename(path)
  try {
    return readdirSync(resolve(cwd, folder === '' ? '.' : folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begin) && (begin.startsWith('.') || !name.startsWith('.')))
      .toSorted((left, right) => left.name.localeCompare(right.name))
      .slice(0, mostOffered)
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ' '}`)
  } catch {
    return []
  }
}
