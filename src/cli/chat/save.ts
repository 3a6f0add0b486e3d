import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { createMask } from '../../journal/secrets.ts'
import { textOf } from '../../event/message.ts'
import { saidBefore } from '../../journal/said-before.ts'
import { usageError } from '../command.ts'
import { workspaceRuns } from '../runs-folder.ts'
import type { Session } from './session.ts'

/**
 * Writes a chat as a prompt file: what the person has said is its text, the last answer stands below its `====` line, and
 * the settings are its front matter. A file that is there is not replaced.
 * @returns its path for people
 * @throws BatonError USAGE when nothing was said or the file is there, FILE_FAILED
 */
export async function saveChat(name: string, { chat, flags, around }: Session): Promise<string> {
  const last = chat.last()
  if (last === undefined) throw usageError('nothing was said yet that could be saved', 'Send a message first.')
  const path = resolve(around.cwd, name.endsWith('.md') ? name : `${name}.md`)
  const shown = displayPath(around.cwd, path)
  if (existsSync(path))
    throw new BatonError('USAGE', `${shown} is there already`, { hint: 'Name another file, or remove it.' })
  const { folder } = await workspaceRuns(flags, around)
  const { messages } = await saidBefore(folder, last, createMask(around.env))
  const asked = messages.filter(({ role }) => role === 'user').map((message) => textOf(message).trim())
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const text = [
    frontMatterOf(chat.settings(), around.cwd),
    asked.join('\n\n'),
    '',
    '====',
    '',
    answer === undefined ? '' : textOf(answer).trim(),
    '',
  ]
  // what is recorded has its secrets hidden, and so has this
  writeFileAtomic(path, createMask(around.env).hide(text.join('\n')))
  return shown
}

/** That of the prompt file of the chat, else what its commands have set. */
function frontMatterOf({ file, model, overrides }: ReturnType<Session['chat']['settings']>, cwd: string): string {
  const own = file === undefined ? undefined : writtenFrontMatter(resolve(cwd, file))
  if (own !== undefined) return own
  const lines = [
    ...(model === undefined ? [] : [`model = ${JSON.stringify(model)}`]),
    'tools = ["*"]',
    ...overrides.map((one) => one.replace('=', ' = ')),
  ]
  return `+++\n${lines.join('\n')}\n+++\n`
}

function writtenFrontMatter(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const [found] = /^\+\+\+\r?\n[^]*?\n\+\+\+\r?\n/.exec(readFileSync(path, 'utf8')) ?? []
  return found === undefined ? undefined : `${found}\n`
}
