import { BatonError } from '../base/error.ts'
import { isBlank } from './lines.ts'
import type { MetaFence } from './transcript.ts'

/** A block of front matter: indices (from 0) of its first and its closing line, marks included. */
export interface MetaBlock {
  readonly language: 'toml' | 'yaml'
  readonly start: number
  readonly end: number
  /** Lines at its beginning that are not data: the opening mark, and `#!meta` in fences. */
  readonly head: number
}

export interface PromptText {
  readonly file: string
  readonly text: string
  readonly lines: readonly string[]
}

/** Front matter is settings, not data: this is far above any real one and bounds the work of the YAML reader. */
const maxBlockCharacters = 1_000_000

/**
 * The block between `+++` (TOML) or `---` (YAML) lines at the start of the file; empty lines before it are fine.
 * @throws BatonError PROMPT_SYNTAX when it is not closed
 */
export function findLeadingBlock(prompt: PromptText): MetaBlock | undefined {
  const { lines } = prompt
  const start = lines.findIndex((line) => !isBlank(line))
  const mark = lines[start]?.trimEnd()
  if (mark !== '+++' && mark !== '---') return undefined
  const end = lines.findIndex((line, index) => index > start && line.trimEnd() === mark)
  if (end !== -1) return checkSize({ language: mark === '+++' ? 'toml' : 'yaml', start, end, head: 1 }, prompt)
  throw syntaxError(prompt, start, `the front matter begins with ${mark} but is not closed`, {
    hint: mark === '+++' ? 'End it with a line +++.' : 'End it with a line ---; a rule at the start is written ***.',
  })
}

/**
 * Joins what was found: at most one block may be front matter.
 * @throws BatonError PROMPT_SYNTAX for two blocks, a block that is not closed, or one in another language
 */
export function chooseBlock(
  prompt: PromptText,
  leading: MetaBlock | undefined,
  fences: readonly MetaFence[],
): MetaBlock | undefined {
  const [first, second] = fences
  if (first === undefined) return leading
  const one = leading?.start ?? first.start
  const other = leading === undefined ? second?.start : first.start
  if (other !== undefined) {
    const message = `the file has front matter twice: on line ${one + 1} and on line ${other + 1}`
    throw syntaxError(prompt, other, message, { hint: 'Put all keys into one block.' })
  }
  const language = languages.get(first.language)
  if (language === undefined) {
    const named = first.language === '' ? 'no language' : `the language "${first.language}"`
    throw syntaxError(prompt, first.start, `the #!meta block has ${named}`, {
      hint: 'Begin it with ```toml or ```yaml.',
    })
  }
  if (first.end === undefined) {
    const hint = 'End it with the same marks it begins with.'
    throw syntaxError(prompt, first.start, 'the #!meta block is not closed', { hint })
  }
  return checkSize({ language, start: first.start, end: first.end, head: 2 }, prompt)
}

const languages: ReadonlyMap<string, MetaBlock['language']> = new Map([
  ['toml', 'toml'],
  ['yaml', 'yaml'],
  ['yml', 'yaml'],
])

function checkSize(block: MetaBlock, prompt: PromptText): MetaBlock {
  let size = 0
  for (let index = block.start; index < block.end; index += 1) size += (prompt.lines[index]?.length ?? 0) + 1
  if (size <= maxBlockCharacters) return block
  throw syntaxError(prompt, block.start, 'the front matter is longer than 1 MB', {
    hint: 'Close it earlier, or move the data into files.',
  })
}

function syntaxError(
  { file, text }: PromptText,
  index: number,
  details: string,
  { hint }: { readonly hint: string },
): BatonError {
  return new BatonError('PROMPT_SYNTAX', details, { hint, place: { file, text, line: index + 1, column: 1 } })
}
