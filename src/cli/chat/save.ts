import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { createMask } from '../../journal/secrets.ts'
import { textOf } from '../../event/message.ts'
import { findLayout, metaBlock } from '../../prompt/layout.ts'
import { linesOf } from '../../prompt/lines.ts'
import { withoutMark } from '../../base/text-lines.ts'
import { saidBefore } from '../../journal/said-before.ts'
import { usageError } from '../command.ts'
import { workspaceRuns } from '../runs-folder.ts'
import type { Session } from './session.ts'

/**
 * Writes a chat as a prompt file: the user's messages are its text, the last answer is below its `====` line, and the
 * settings are its front matter. An existing file is not replaced.
 * @returns its path, for display
 * @throws BatonError USAGE if there is no message yet or the file exists, FILE_FAILED
 */
export async function saveChat(name: string, { chat, flags, around }: Session): Promise<string> {
  const last = chat.last()
  if (last === undefined) throw usageError('there is nothing to save yet', 'Send a message first.')
  const path = resolve(around.cwd, name.endsWith('.md') ? name : `${name}.md`)
  const shown = displayPath(around.cwd, path)
  if (existsSync(path))
    throw new BatonError('USAGE', `${shown} already exists`, { hint: 'Name another file, or remove it.' })
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
  // like records, it must not contain secrets
  writeFileAtomic(path, createMask(around.env).hide(text.join('\n')))
  return shown
}

/** The front matter of the chat's prompt file, else the settings made by its commands. */
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
  const text = withoutMark(readFileSync(path, 'utf8'))
  const prompt = { file: path, text, lines: linesOf(text) }
  const block = metaBlock(prompt, findLayout(prompt))
  return block && `${prompt.lines.slice(block.start, block.end + 1).join('\n')}\n\n`
}
