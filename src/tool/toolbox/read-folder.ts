import { modelText } from '../../base/model-text.ts'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { compareBytes } from '../../base/byte-order.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import type { ToolCall, ToolOutput } from './kind.ts'
import { pastEnd } from './past-end.ts'
import { oneLine, toolPath } from './paths.ts'
import type { ReadInput } from './read.ts'
import { usualLimit } from './read-file.ts'
import { visibleTo } from './visible.ts'

/** Most entries of a folder that are read. */
const mostEntries = 50_000

/** Lists the entries of a folder, except those that rules hide from the model. @throws BatonError FILE_FAILED */
export async function readFolder(path: string, input: ReadInput, call: ToolCall): Promise<ToolOutput> {
  const { offset = 1, limit = usualLimit } = input
  const shown = toolPath(path, call.box)
  const isVisible = visibleTo('read', call)
  const entries: string[] = []
  let isWhole = true
  try {
    for await (const entry of await opendir(path, { bufferSize: 256 })) {
      call.context.services.signal.throwIfAborted()
      if (entries.length === mostEntries) {
        isWhole = false
        break
      }
      const mark = entry.isDirectory() ? '/' : entry.isSymbolicLink() ? '@' : ''
      if (isVisible(join(path, entry.name))) entries.push(`${entry.name}${mark}`)
    }
  } catch (error) {
    call.context.services.signal.throwIfAborted()
    throw new BatonError('FILE_FAILED', modelText`${shown} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  if (entries.length === 0) return { text: modelText`[the folder is empty]` }
  if (offset > entries.length) {
    throw pastEnd(shown, entries.length === 1 ? '1 entry' : `${entries.length} entries`, offset)
  }
  const listed = entries.toSorted(compareBytes).slice(offset - 1, offset - 1 + limit)
  const last = offset + listed.length - 1
  const isPart = listed.length < entries.length || !isWhole
  const all = isWhole ? `${entries.length}` : `more than ${mostEntries}`
  const rest = last < entries.length ? `; go on from offset ${last + 1}` : ''
  const remark = isPart ? [`[entries ${offset} to ${last} of ${all}${rest}]`] : []
  return { text: [`${shown} is a folder:`, ...listed.map(oneLine), ...remark].join('\n') }
}
