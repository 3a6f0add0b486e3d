import type { DataText } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
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

/**
 * Reads the option string of a prompt heading as an inline table; braces may be left out (spec/aipack.md 1.4).
 * @throws BatonError PROMPT_SYNTAX at the heading
 */
export async function readInlineTable(text: string, place: SourcePlace): Promise<JsonObject> {
  const trimmed = text.trim()
  const table = trimmed.startsWith('{') ? trimmed : `{ ${trimmed} }`
  const { data } = await parseToml({
    file: place.file,
    text: place.text ?? '',
    block: `options = ${table}`,
    firstLine: place.line ?? 1,
    what: 'the option of this heading',
    code: 'PROMPT_SYNTAX',
  })
  return data['options'] as JsonObject
}
