import type { JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { withoutMark } from './lines.ts'
import type { AipBlock } from './aip.ts'

/**
 * Reads the `# Options` block of an agent file as TOML; several fences are one document (spec/aipack.md 1.3).
 * What the keys mean and which are known is the reader's business.
 * @throws BatonError PROMPT_SYNTAX with line and column in the agent file
 */
export async function readTable(file: string, text: string, block: AipBlock): Promise<JsonObject> {
  const { data } = await parseToml({
    file,
    text: withoutMark(text),
    block: block.text,
    firstLine: 1,
    what: 'the Options section',
    code: 'PROMPT_SYNTAX',
  })
  return data
}
