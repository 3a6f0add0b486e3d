import type { Message } from '../event/message.ts'

/** A file found in the messages of a request. `lines[0]` is line 1 of the file. */
export interface ContextFile {
  readonly path: string
  readonly lines: readonly string[]
}

export interface SplitText {
  readonly files: readonly ContextFile[]
  /** Everything outside the file blocks. */
  readonly rest: string
}

const opening = /^<file path="([^"]+)"(?: lines="(\d+)")?[^>]*>$/
const closing = '</file>'

/**
 * Finds the blocks `<file path="src/a.ts">`, the file's lines as they are, `</file>`, each tag alone on its line.
 * With `lines="N"` exactly N lines are taken, whatever they hold. Without it a block ends at the last closing line
 * before the next opening one, so a file may itself hold closing lines.
 */
export function splitFiles(text: string): SplitText {
  const lines = text.split('\n')
  const files: ContextFile[] = []
  const rest: string[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const [, path, count] = opening.exec(line) ?? []
    const end = path === undefined ? -1 : endOfBlock(lines, { start: index + 1, count })
    if (path === undefined || end === -1) {
      rest.push(line)
      continue
    }
    files.push({ path: unescape(path), lines: lines.slice(index + 1, end) })
    index = end
  }
  return { files, rest: rest.join('\n').trim() }
}

/** The files of all messages in order; the same file given twice is there once. */
export function filesOf(messages: readonly Message[]): readonly ContextFile[] {
  const seen = new Map<string, ContextFile>()
  for (const { content } of messages) {
    for (const file of splitFiles(content).files) seen.set(`${file.path}\n${file.lines.join('\n')}`, file)
  }
  return [...seen.values()]
}

function endOfBlock(
  lines: readonly string[],
  { start, count }: { readonly start: number; readonly count: string | undefined },
): number {
  if (count !== undefined && lines[start + Number(count)] === closing) return start + Number(count)
  let end = -1
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line === closing) end = index
    else if (end !== -1 && opening.test(line)) break
  }
  return end
}

function unescape(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
