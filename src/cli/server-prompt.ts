import { BatonError } from '../base/error.ts'
import { harmlessName } from '../base/terminal-text.ts'
import type { McpPrompt, McpPromptMessage } from '../event/mcp.ts'
import type { Flags } from './command-specs.ts'
import { usageError } from './command.ts'
import type { CommandIo } from './io.ts'
import { openServersHere } from './servers-here.ts'

const name = /^mcp:([^/]+)\/(.+)$/s

/** Turns `baton run mcp:SERVER/PROMPT` into `-p TEXT`. @throws BatonError as `serverPrompt` does */
export async function asText(file: string, flags: Flags<'run'>, io: CommandIo): Promise<Flags<'run'>> {
  if (!name.test(file)) {
    throw usageError(
      `${file} does not name a prompt`,
      'Write mcp:SERVER/PROMPT; baton mcp tools SERVER lists the prompts.',
    )
  }
  if (flags.prompt !== undefined) {
    throw usageError('-p and a prompt of a server cannot be combined', 'Leave one of them out.')
  }
  return { ...flags, file: undefined, prompt: await serverPrompt(file, flags, io), var: [] }
}

/**
 * The text of a prompt of an MCP server, filled with `--var`. It is used as a plain prompt, never as front matter or a
 * transcript. The run records the text as its own, and does not need the server again.
 * @throws BatonError USAGE for an unknown prompt, and for unknown or missing arguments; MCP_FAILED
 */
async function serverPrompt(
  file: string,
  flags: Pick<Flags<'run'>, 'chdir' | 'config' | 'var'>,
  io: CommandIo,
): Promise<string> {
  const [, server = '', prompt = ''] = name.exec(file) ?? []
  const { service } = await openServersHere(flags, io)
  const { signal } = io
  try {
    const known = await service.prompts(server, signal)
    const found = known.find((one) => one.name === prompt)
    if (found === undefined) {
      const names = known.map((one) => harmlessName(one.name)).join(', ')
      const hint = names === '' ? 'It has none.' : `Its prompts: ${names}.`
      throw usageError(`the MCP server ${server} has no prompt "${prompt}"`, hint)
    }
    const messages = await service.prompt(server, prompt, valuesOf(found, flags.var), { signal })
    return plainPrompt(conversation(messages, file))
  } finally {
    await service.close()
  }
}

function valuesOf({ name: prompt, arguments: known }: McpPrompt, given: readonly string[]): Record<string, string> {
  const values = Object.fromEntries(
    given.map((text): readonly [string, string] => {
      const end = text.indexOf('=')
      if (end < 1) throw usageError(`--var takes NAME=VALUE, not "${text}"`, 'For example: --var topic=tests')
      return [text.slice(0, end), text.slice(end + 1)]
    }),
  )
  const names = known.map((one) => one.name)
  const shown = names.map(harmlessName).join(', ')
  const unknown = Object.keys(values).find((one) => !names.includes(one))
  if (unknown !== undefined) {
    throw usageError(`the prompt "${prompt}" has no argument "${unknown}"`, `Its arguments: ${shown || 'none'}.`)
  }
  const missing = known.filter((one) => one.required === true && values[one.name] === undefined)
  if (missing.length === 0) return values
  const wanted = missing.map((one) => harmlessName(one.name))
  throw usageError(
    `the prompt "${prompt}" needs ${wanted.join(', ')}`,
    `Add ${wanted.map((one) => `--var ${one}=…`).join(' ')}`,
  )
}

/** Names who says what, unless all messages are the user's. */
function conversation(messages: readonly McpPromptMessage[], file: string): string {
  const isShared = messages.some(({ role }) => role === 'assistant')
  return messages
    .map((message) => {
      const who = message.role === 'assistant' ? 'Assistant' : 'User'
      return `${isShared ? `${who}: ` : ''}${textOf(message, file)}`
    })
    .join('\n\n')
}

function textOf({ content }: McpPromptMessage, file: string): string {
  if (content.type === 'text') return content.text
  if (content.type === 'resource' && content.resource.text !== undefined) {
    return `${content.resource.uri}:\n\n${content.resource.text}`
  }
  throw notAPrompt(
    file,
    `it contains ${content.type === 'resource_link' ? 'a link' : `content of type ${content.type}`}`,
  )
}

function notAPrompt(file: string, why: string): BatonError {
  return new BatonError('NOT_AVAILABLE', `${file} cannot be run as a prompt: ${why}`, {
    hint: 'Only text is supported.',
  })
}

/** Adds empty front matter, so that no text is read as such, and escapes lines that would start a transcript. */
function plainPrompt(text: string): string {
  return `+++\n+++\n${text.replaceAll(/^====$/gm, ' ====')}`
}
