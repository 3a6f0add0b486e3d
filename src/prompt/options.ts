import type { DataText } from '../base/data-text.ts'
import { BatonError, isBatonError, type SourcePlace } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { withoutMark } from './lines.ts'
import type { AipBlock } from './aip.ts'

/**
 * Reads the `# Options` block of an agent file as TOML; several fences are one document (spec/aipack.md 1.3).
 * What the keys mean and which are known is the reader's business.
 * @throws BatonError PROMPT_SYNTAX with line and column in the agent file
 */
export async function readTable(file: string, text: string, block: AipBlock): Promise<DataText> {
  return parseToml({
    file,
    text: withoutMark(text),
    block: block.text,
    firstLine: 1,
    what: 'the Options section',
    code: 'PROMPT_SYNTAX',
  })
}

/** The place of the option string in a prompt heading, which begins behind the first backtick. */
export function placeOfOption(heading: SourcePlace): SourcePlace {
  const line = heading.text?.split('\n')[(heading.line ?? 1) - 1] ?? ''
  const mark = line.indexOf('`')
  return mark === -1 ? heading : { ...heading, column: mark + 2 }
}

const optionHint = 'Write key = value between the backticks: # User `cache = true`.'

/**
 * Reads the option string of a prompt heading: whether the part is to be cached. An option string that is not empty has
 * `cache`, other keys say nothing (spec/aipack.md 1.4, vectors 8 and 9). `place` is where it begins.
 * @throws BatonError PROMPT_SYNTAX at the heading
 */
export async function readCacheOption(text: string, place: SourcePlace): Promise<boolean> {
  const options = await readInlineTable(text, place)
  const cache = options['cache']
  if (typeof cache === 'boolean') return cache
  if (cache === undefined && Object.keys(options).length === 0) return false
  const message = cache === undefined ? 'has no "cache"' : 'says neither true nor false for "cache"'
  throw new BatonError('PROMPT_SYNTAX', `the option of this heading ${message}`, { place, hint: optionHint })
}

/** An inline table whose braces may be left out. */
async function readInlineTable(text: string, place: SourcePlace): Promise<JsonObject> {
  const trimmed = text.trim()
  const key = 'options = '
  const open = trimmed.startsWith('{') ? '' : '{ '
  try {
    const { data } = await parseToml({
      file: place.file,
      text: place.text ?? '',
      block: `${key}${open}${trimmed}${open === '' ? '' : ' }'}`,
      firstLine: place.line ?? 1,
      what: 'the option of this heading',
      code: 'PROMPT_SYNTAX',
    })
    return data['options'] as JsonObject
  } catch (error) {
    if (!isBatonError(error) || error.place?.column === undefined) throw error
    // what was put in front stands in no file
    const shift = (place.column ?? 1) - 1 + text.indexOf(trimmed) - key.length - open.length
    throw new BatonError(error.code, error.message, {
      place: { ...place, column: Math.max(1, error.place.column + shift) },
      hint: optionHint,
      cause: error,
    })
  }
}
