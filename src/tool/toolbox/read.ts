import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { lookalikePaths } from '../../base/real-name.ts'
import { callPlace } from '../../event/place.ts'
import { notAFile, noteData, statusAt } from '../workspace-reads.ts'
import { defineTool, noSubject, type ToolCall, type ToolOutput } from './kind.ts'
import { outputPrefix, pastEnd, readOutput, defaultLimit } from './output.ts'
import { oneLine, pathSubject, permittedPath, toolPath, visibleTo } from './paths.ts'
import { readFile, readText } from './read-file.ts'
import { compareBytes } from '../../base/byte-order.ts'

export interface ReadInput {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Shows a file, a folder, or the rest of an output. */
export const read = defineTool<ReadInput>({
  name: 'read',
  description: modelText`Read a file. Each line of the result is a line number, a tab (in programs: →), and the exact text of that line: the number and the tab are not part of the file. Long files are returned in parts, and the last line explains how to get the next one. Images (PNG, JPEG, GIF, WebP) and PDF documents are shown directly. For a folder, the entries are listed. To read the rest of a truncated output, use its name (output:…).`,
  parameters: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: modelText`The file or folder, relative to the current folder, or the name of a truncated output.`,
      },
      offset: {
        type: 'integer',
        minimum: 1,
        description: modelText`The first line (or page of a PDF), counted from 1.`,
      },
      limit: {
        type: 'integer',
        minimum: 1,
        description: modelText`Maximum number of lines (default: 2000), or of pages of a PDF.`,
      },
    },
    required: ['path'],
    additionalProperties: false,
  },
  subject: ({ path }, box) => (path.startsWith(outputPrefix) ? noSubject : pathSubject(path, box)),
  async run(input, call) {
    const { effects } = call.context.services
    const { path } = input
    const reads = path.startsWith(outputPrefix) ? {} : { reads: path }
    const asked = { name: 'read', args: { ...input }, ...reads }
    return effects.observeAsync(callPlace(call.at, 0), asked, () => look(input, call))
  },
})

async function look(input: ReadInput, call: ToolCall): Promise<ToolOutput> {
  if (input.path.startsWith(outputPrefix)) {
    return readOutput(input, { box: call.box, texts: call.context.services.texts })
  }
  const path = permittedPath(call.permit)
  const shown = toolPath(path, call.box)
  const planned = call.context.services.planned?.at(path)
  if (planned?.kind === 'file') return readText({ path, shown, text: planned.text }, input, call)
  if (planned?.kind === 'folder')
    throw new BatonError('FILE_FAILED', modelText`${shown} is a folder that does not exist on disk yet`)
  if (planned?.kind === 'nothing') return notThere(shown)
  return onDisk({ path: planned?.kind === 'disk' ? planned.path : path, shown }, input, call)
}

function notThere(shown: string): never {
  throw new BatonError('FILE_FAILED', modelText`there is no file ${shown}`)
}

/** The error for a file that is not there, with the names that several files have in its place. */
function missing(path: string, shown: string, { box }: ToolCall): BatonError {
  const twins = lookalikePaths(path).map((twin) => codedName(toolPath(twin, box)))
  const others =
    twins.length < 2
      ? ''
      : `, but ${twins.length} whose names differ from it only in spaces or composed letters: write one of ${twins.join(', ')} as the path`
  return new BatonError('FILE_FAILED', `there is no file ${shown}${others}`)
}

/** As JSON in ASCII, so that names that look the same can be told apart. */
function codedName(name: string): string {
  return JSON.stringify(name).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

async function onDisk(
  { path, shown }: { readonly path: string; readonly shown: string },
  input: ReadInput,
  call: ToolCall,
): Promise<ToolOutput> {
  noteData(path, call.context)
  const status = statusAt(path)
  switch (status?.kind) {
    case undefined:
      throw missing(path, shown, call)
    case 'other':
      throw notAFile(shown, 'other')
    case 'folder':
      return readFolder(path, input, call)
    case 'file':
      return readFile({ path, shown, size: status.size }, input, call)
  }
}

/** Most entries of a folder that are read. */
const mostEntries = 50_000

/** Lists the entries of a folder, except those that rules hide from the model. @throws BatonError FILE_FAILED */
async function readFolder(path: string, input: ReadInput, call: ToolCall): Promise<ToolOutput> {
  const { offset = 1, limit = defaultLimit } = input
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
