import type { AnswerLines } from './answer-lines.ts'
import { hasText, readFence } from './fence.ts'
import type { Piece } from './pieces.ts'

/** Names of files without a folder or an extension. */
const bareNames = /^(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Gemfile|Rakefile|Procfile|Justfile|Vagrantfile)$/
const pathCharacters = /^[^\s<>|"'`*?:]+$/

/**
 * The file name that makes up a whole line: `a/b.ts`, `**a/b.ts**`, `### a/b.ts:`, `File: a/b.ts`. Names with spaces need
 * to be marked as names.
 */
export function fileNameIn(line: string): string | undefined {
  const text = withoutBullet(line)
  const plain = text.replace(/^\**(?:File(?:name)?|Path)\**:\**\s*/i, '')
  const marked = /^(?:\*\*`?|`)([^`*]+?)(?:`?\*\*|`):?$/.exec(plain.replace(/:(\**)$/, '$1'))?.[1]
  const name = (marked ?? plain).replace(/:$/, '').trim()
  const isMarked = marked !== undefined || plain !== text
  return isPath(name) || bareNames.test(name) || (isMarked && /\w\.\w+$/.test(name)) ? name : undefined
}

function withoutBullet(line: string): string {
  return line.trim().replace(/^(?:#+|[-*]|\/\/|\d+\.)\s+/, '')
}

/** Longer lines are prose. */
const mostCharacters = 500

/** What a line of several words would name if it were the path of a file: only the files can tell. */
export function spacedNameIn(line: string): string | undefined {
  const name = withoutBullet(line)
    .replace(/^(`|\*\*)(.*)\1(:?)$/, '$2$3')
    .replace(/:$/, '')
    .trim()
  return name.length <= mostCharacters && /\s/.test(name) ? name : undefined
}

/** Whether a text has the characters of a path, with a folder or an extension. */
function isPath(text: string): boolean {
  return pathCharacters.test(text) && !text.endsWith('.') && /[./]/.test(text.slice(0, -1))
}

/** The file that a fence line names after its language: `ts src/a.ts`, `ts:src/a.ts`, `src/a.ts`. */
export function fileNameOfFence(line: string): string | undefined {
  const words = readFence(line)?.info.split(/[\s:]+/) ?? []
  const last = words.at(-1)?.replace(/^(?:file|path|title|filename)=["']?|["']$/g, '')
  return last === undefined || (last === words[0] && !last.includes('/')) ? undefined : fileNameIn(last)
}

/**
 * Removes from the text above the file name that it ends with, and returns it: the last line with text, if that is
 * nothing but a name.
 */
export function takeNameAbove(written: Piece[], lines: AnswerLines): string | undefined {
  const { at, text = '' } = lineAbove(written, lines)
  const name = fileNameIn(text)
  if (name !== undefined) written.splice(at)
  return name
}

/** The last line with text above, and its index; no text if there is a change in between. */
export function lineAbove(
  written: readonly Piece[],
  lines: AnswerLines,
): { readonly at: number; readonly text?: string } {
  const at = written.findLastIndex(({ kind, text }) => kind === 'change' || hasText(text))
  const above = written[at]
  return above?.kind !== 'text' || lines.at === 0 ? { at } : { at, text: above.text }
}
