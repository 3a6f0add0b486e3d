import { isBatonError } from '../base/error.ts'
import { isSectionHeading } from '../prompt/aip.ts'
import { parsePrompt } from '../prompt/document.ts'

/** What a file says first about itself, in one sentence; empty when it says nothing. */
export async function firstText(file: string, text: string): Promise<string> {
  if (file.endsWith('.md')) return firstSentence(await textOfPrompt(file, text))
  return firstSentence(file.endsWith('.lua') ? firstComment(text.split('\n'), '--') : textOfAgent(text))
}

/** The first paragraph above the sections. */
function textOfAgent(text: string): readonly string[] {
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  const end = lines.findIndex(isSectionHeading)
  return firstParagraph(lines.slice(0, end === -1 ? undefined : end).map((line) => (line.startsWith('#') ? '' : line)))
}

/** The description, else the first comment of the front matter, else the instruction. */
async function textOfPrompt(file: string, text: string): Promise<readonly string[]> {
  try {
    const { meta, instruction } = await parsePrompt(file, text)
    const { description } = meta.data
    if (typeof description === 'string' && description.trim() !== '') return [description]
    const lines = text.split('\n')
    const start = lines.findIndex((line) => /^(?:\+\+\+|---|`{3,}(?:toml|ya?ml))\s*$/.test(line))
    const comment = meta.language === 'none' ? [] : firstComment(lines.slice(start + 1), '#')
    return comment.length > 0 ? comment : firstParagraph(instruction.split('\n'))
  } catch (error) {
    // a file that cannot be read as a prompt is listed all the same: baton check says what is wrong with it
    if (!isBatonError(error)) throw error
    return []
  }
}

/** The first paragraph of the comment that the lines begin with, without marks and directives such as `#:schema`. */
function firstComment(lines: readonly string[], mark: string): readonly string[] {
  const end = lines.findIndex((line) => line.trim() !== '' && !line.trim().startsWith(mark))
  const comments = lines.slice(0, end === -1 ? undefined : end).filter((line) => !/^\s*#[:!]/.test(line))
  return firstParagraph(comments.map((line) => line.trim().replace(/^(?:#+|--+)\s?/, '')))
}

function firstParagraph(lines: readonly string[]): readonly string[] {
  const start = lines.findIndex((line) => line.trim() !== '')
  if (start === -1) return []
  const end = lines.findIndex((line, index) => index > start && line.trim() === '')
  return lines.slice(start, end === -1 ? undefined : end)
}

function firstSentence(lines: readonly string[]): string {
  // a terminal obeys control characters
  const text = lines
    .map((line) => line.trim())
    .join(' ')
    .replaceAll(/\p{Cc}/gu, '')
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text
}
