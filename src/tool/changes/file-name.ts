import type { AnswerLines } from './answer-lines.ts'
import { hasText, readFence } from './fence.ts'
import type { Piece } from './pieces.ts'

/** Names of files without a folder or an extension. */
const bareNames = /^(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Gemfile|Rakefile|Procfile|Justfile|Vagrantfile)$/
const pathCharacters = /^[^\s<>|"'`*?:]+$/

/** The file name that makes up a whole line: `a/b.ts`, `**a/b.ts**`, `### a/b.ts:`, `File: a/b.ts`. */
export function fileNameIn(line: string): string | undefined {
  const plain = line
    .trim()
    .replace(/^(?:#+|[-*]|\/\/|\d+\.)\s+/, '')
    .replace(/^\**(?:File(?:name)?|Path)\**:\**\s*/i, '')
  const marked = /^(?:\*\*`?|`)([^`*]+?)(?:`?\*\*|`):?$/.exec(plain.replace(/:(\**)$/, '$1'))?.[1]
  const name = (marked ?? plain).replace(/:$/, '').trim()
  return isPath(name) || bareNames.test(name) || (marked !== undefined && /\w\.\w+$/.test(name)) ? name : undefined
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
  const at = written.findLastIndex(({ kind, text }) => kind === 'change' || hasText(text))
  const above = written[at]
  if (above?.kind !== 'text' || lines.at === 0) return undefined
  const name = fileNameIn(above.text)
  if (name !== undefined) written.splice(at)
  return name
}
