import { modelText } from '../../base/model-text.ts'
import { BatonError } from '../../base/error.ts'
import { twinsOf } from '../../base/real-name.ts'
import { callPlace } from '../../event/place.ts'
import { notAFile, statusAt } from '../workspace-reads.ts'
import { defineTool, noSubject, type ToolCall, type ToolOutput } from './kind.ts'
import { outputPrefix } from './output.ts'
import { pathSubject, permittedPath, toolPath } from './paths.ts'
import { readFile, readText } from './read-file.ts'
import { readFolder } from './read-folder.ts'
import { readOutput } from './read-output.ts'

export interface ReadInput {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Shows a file, a folder, or the rest of an output. */
export const read = defineTool<ReadInput>({
  name: 'read',
  description: modelText`Read a file. Each line of the result is a line number, an arrow (→), and the exact text of that line: the number and the arrow are not part of the file. Long files are returned in parts, and the last line explains how to get the next one. Images (PNG, JPEG, GIF, WebP) and PDF documents are shown directly. For a folder, the entries are listed. To read the rest of a truncated output, use its name (output:…).`,
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
  if (input.path.startsWith(outputPrefix)) return readOutput(input, call)
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
  const twins = twinsOf(path).map((twin) => codedName(toolPath(twin, box)))
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
