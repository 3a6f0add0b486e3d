import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { linesText } from './numbered-lines.ts'
import { mostCharacters, outputLines, outputPrefix } from './output.ts'
import { pastEnd } from './past-end.ts'
import type { ReadInput } from './read.ts'
import { usualLimit } from './read-file.ts'

/** Most characters of one part: less than an output may have, so that it is not truncated again. */
const mostShown = mostCharacters - 4_000

/** Shows lines of a truncated output, verbatim. @throws BatonError FILE_FAILED if it is not kept */
export function readOutput(
  { path, offset = 1, limit = usualLimit }: ReadInput,
  { box, context }: ToolCall,
): ToolOutput {
  const text = box.outputs.find(path.slice(outputPrefix.length), context.services.texts)
  if (text === undefined) {
    throw new BatonError('FILE_FAILED', modelText`there is no output ${path}`, {
      hint: 'Call the tool that returned it again.',
    })
  }
  const all = outputLines(text)
  if (offset > all.length) {
    throw pastEnd(path, linesText(all.length), offset)
  }
  let end = offset - 1
  let size = 0
  for (; end < all.length && end < offset - 1 + limit; end += 1) {
    size += all[end]?.length ?? 0
    if (size > mostShown) break
  }
  const shown = all
    .slice(offset - 1, end)
    .join('')
    .replace(/\n$/, '')
  const rest = end < all.length ? `; go on from offset ${end + 1}` : ''
  return { text: modelText`${shown}\n[lines ${offset} to ${end} of ${all.length}${rest}]` }
}
