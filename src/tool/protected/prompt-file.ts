import { fstatSync, readSync } from 'node:fs'
import { maxSourceBytes } from '../../base/files.ts'
import { readRegular } from '../../base/regular-file.ts'
import { decidingKeys } from '../../settings/keys.ts'
import { foldedName } from './names.ts'

const endings = /\.(?:md|markdown|mdx|txt|prompt)$/i
/** Front matter may stand below any number of comments, so all is read of a file that can be run, and a byte more. */
const mostBytes = maxSourceBytes + 1

/** What may stand above front matter; as `findLayout` in src/prompt/layout.ts, which decides what is front matter. */
const above = /^\uFEFF?(?:#!\/[^\n]*(?:\n|$))?(?:\s+|<!--[^]*?-->)*/
/** A fenced block of front matter, which may be anywhere in the text. */
const fenced = /^[^\S\r\n\u2028\u2029]*(?:`{3}|~{3}).*\r?\n(?:#|\/\/)!meta\b/m
/**
 * Keys that do not stand there as they are read: with escapes, in braces, behind a question mark, a tag or an anchor.
 */
const hidden = /^[^\S\r\n\u2028\u2029]*(?:\{|\?\s|[!&]\S+\s.*[:{]|(?:\[{1,2}[^\S\n]*)?"[^"\n]*\\)/m
const key = anyOf(decidingKeys)
const agentKey = anyOf([...decidingKeys, 'name', 'description'])

function anyOf(keys: readonly string[]): RegExp {
  return new RegExp(`^[ \\t]*(?:\\[{1,2}[ \\t]*)?["']?(?:${keys.join('|')})["']?[ \\t]*(?:[=:.\\]]|$)`, 'm')
}

/** Whether a path, by its steps from the workspace, is where agents are found by their names and descriptions. */
export function isAgentPlace([first = '', ...below]: readonly string[]): boolean {
  return below.length > 0 && foldedName(first) === 'agents'
}

/**
 * Whether Markdown is a prompt file: its front matter has a key that decides what runs, or, where agents are found, one
 * that makes it an agent. Text that is too long for a prompt file is never run as one.
 */
export function isPromptText(text: string, isAgent = false): boolean {
  if (text.length > maxSourceBytes) return false
  if (text.includes('!meta') && fenced.test(text)) return true
  const [before = ''] = above.exec(text) ?? []
  const rest = text.slice(before.lastIndexOf('\n') + 1)
  const end = rest.indexOf('\n')
  const mark = rest
    .slice(0, end)
    .replace(/^\uFEFF+/, '')
    .trimEnd()
  if (end === -1 || (mark !== '+++' && mark !== '---')) return false
  const lines = rest.slice(end + 1).split('\n')
  const last = lines.findIndex((line) => line.trimEnd() === mark)
  const inside = lines.slice(0, last === -1 ? undefined : last).join('\n')
  return (isAgent ? agentKey : key).test(inside) || hidden.test(inside)
}

/** Whether a file with this name could be a prompt file. */
export function mayBePrompt(path: string): boolean {
  return endings.test(path)
}

/** Whether the file at a path (absolute) has the content of a prompt file. */
export function isPromptFile(path: string, isAgent = false): boolean {
  return isPromptText(fileHead(path).toString('utf8'), isAgent)
}

/** The start of a file (absolute), enough to tell whether it is a prompt file; empty if it cannot be read. */
export function fileHead(path: string): Buffer {
  try {
    return readRegular(path, (descriptor) => {
      const bytes = Buffer.alloc(Math.min(fstatSync(descriptor).size, mostBytes))
      return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, 0))
    })
  } catch {
    return Buffer.alloc(0)
  }
}
