import { join } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { finishInSlices } from '../../base/concurrency.ts'
import { BatonError } from '../../base/error.ts'
import { escapeGlob } from '../../base/glob-pattern.ts'
import { literalGlob } from '../../base/literal-glob.ts'
import { compileSearch } from '../../base/search-pattern.ts'
import { callPlace } from '../../event/place.ts'
import { notAFile, readSlices, statusAt } from '../workspace-reads.ts'
import { defineTool, type ToolCall, type ToolOutput } from './kind.ts'
import { pathSubject, permittedPath, toolPath, visibleTo } from './paths.ts'
import type { FileMatches } from './search-files.ts'
import { search } from './search.ts'
import { walkFiles } from './walk.ts'
import { createLineReader } from './line-reader.ts'

interface GrepInput {
  readonly pattern: string
  readonly path?: string
  readonly glob?: string
  readonly output?: 'content' | 'files' | 'count'
  readonly context?: number
  readonly before?: number
  readonly after?: number
  readonly ignore_case?: boolean
  readonly limit?: number
}

const mostContext = 50
const defaultLimits = { content: 250, files: 1_000, count: 1_000 }

/** Searches files, with ripgrep if it is installed. */
export const grep = defineTool<GrepInput>({
  name: 'grep',
  description: modelText`Search files line by line for a regular expression (ripgrep syntax, no lookaround). content shows the matching lines of each file below its name, as number:line, and context lines as number-line; files lists the files; count shows the number of matching lines in each. Files ignored by .gitignore, folders such as node_modules and binary files are skipped.`,
  parameters: {
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, description: modelText`The regular expression.` },
      path: { type: 'string', minLength: 1, description: modelText`A file or folder; default: the current folder.` },
      glob: {
        type: 'string',
        minLength: 1,
        description: modelText`Only search matching files, such as "*.ts" (in any folder) or "src/**/*.ts".`,
      },
      output: { enum: ['content', 'files', 'count'], description: modelText`Default: content.` },
      context: {
        type: 'integer',
        minimum: 0,
        maximum: mostContext,
        description: modelText`Number of context lines before and after each match.`,
      },
      before: { type: 'integer', minimum: 0, maximum: mostContext },
      after: { type: 'integer', minimum: 0, maximum: mostContext },
      ignore_case: { type: 'boolean' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        description: modelText`Maximum number of matching lines (default: 250) or files (default: 1000).`,
      },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  subject: ({ path = '.' }, box) => pathSubject(path, box),
  async run(input, call) {
    const { effects } = call.context.services
    const asked = { name: 'grep', args: { ...input } }
    return effects.observeAsync(callPlace(call.at, 0), asked, () => searchFor(input, call))
  },
})

async function searchFor(input: GrepInput, call: ToolCall): Promise<ToolOutput> {
  const { output = 'content', context = 0, before = context, after = context } = input
  const { limit = defaultLimits[output], ignore_case: ignoreCase = false } = input
  const pattern = compileSearch(input.pattern, { ignoreCase })
  const root = permittedPath(call.permit)
  const { files, folder, isWhole } = await filesOf(root, input, call)
  const wanted = output === 'content' ? limit : 0
  const found = await search(files, { pattern, lines: wanted }, { root: folder, context: call.context })
  if (found.length === 0) return { text: modelText`[nothing matches]` }
  const shown =
    output === 'content'
      ? await showLines(found, { before, after, call })
      : found.slice(0, limit).map(({ file, count }) => {
          const name = toolPath(file, call.box)
          return output === 'files' ? name : `${name}:${count}`
        })
  return { text: [...shown, ...remarks(found, { output, limit, isWhole })].join('\n') }
}

interface Searched {
  readonly files: readonly string[]
  /** The folder of the files. */
  readonly folder: string
  readonly isWhole: boolean
}

async function filesOf(root: string, { glob }: GrepInput, call: ToolCall): Promise<Searched> {
  const { scope, services } = call.context
  const kind = statusAt(root)?.kind
  const shown = toolPath(root, call.box)
  switch (kind) {
    case undefined:
      throw new BatonError('FILE_FAILED', modelText`there is no file or folder ${shown}`)
    case 'other':
      throw notAFile(shown, 'other')
    case 'file': {
      const isVisible = visibleTo('grep', call)(root)
      return { files: isVisible ? [root] : [], folder: join(root, '..'), isWhole: true }
    }
    case 'folder': {
      const { workspace } = scope.folders
      const options = { workspace, glob: anywhere(glob, root), isVisible: visibleTo('grep', call) }
      return { ...(await finishInSlices(walkFiles(root, options), services.signal)), folder: root }
    }
  }
}

/** A glob without a slash matches file names in any folder, and the name that it is. */
function anywhere(glob = '**', root: string): string {
  const [, not = '', inner = ''] = /^(!?)(.*)$/s.exec(glob) ?? []
  if (inner.includes('/')) return literalGlob(glob, root)
  return /[[\]{}]/.test(inner) ? `${not}**/{${inner},${escapeGlob(inner)}}` : `${not}**/${inner}`
}

interface Shown {
  readonly output: 'content' | 'files' | 'count'
  readonly limit: number
  /** Whether all files were searched. */
  readonly isWhole: boolean
}

function remarks(found: readonly FileMatches[], { output, limit, isWhole }: Shown): readonly string[] {
  const lines = found.reduce((sum, { count }) => sum + count, 0)
  const all = output === 'content' ? lines : found.length
  const total = `${number(lines, modelText`matching line`)} in ${number(found.length, 'file')}`
  const unit = output === 'content' ? '' : modelText` files`
  return [
    all > limit ? modelText`[the first ${limit}${unit} of ${total}; narrow the search, or raise limit]` : `[${total}]`,
    ...(isWhole ? [] : [modelText`[there are more files than were searched: name a path or a glob]`]),
  ]
}

function number(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

interface Showing {
  /** Context lines to show around each match. */
  readonly before: number
  readonly after: number
  readonly call: ToolCall
}

const mostLineCharacters = 500

/** The matching lines with their context, below the names of their files. */
async function showLines(found: readonly FileMatches[], showing: Showing): Promise<readonly string[]> {
  const shown: string[] = []
  for (const { file, lines } of found) {
    if (lines.length === 0) continue
    if (shown.length > 0) shown.push('')
    shown.push(toolPath(file, showing.call.box), ...(await linesOf(file, lines, showing)))
  }
  return shown
}

/** Gaps between lines are marked the way grep does. */
async function linesOf(
  file: string,
  matching: readonly number[],
  { before, after, call }: Showing,
): Promise<readonly string[]> {
  const matches = new Set(matching)
  const wanted = new Set(
    matching.flatMap((line) => Array.from({ length: before + after + 1 }, (_, at) => line - before + at)),
  )
  const last = Math.max(...wanted)
  const shown: string[] = []
  let previous = 0
  const reader = createLineReader({
    characters: mostLineCharacters,
    isWanted: (line) => wanted.has(line),
    onLine(line, { text }) {
      if (previous > 0 && line > previous + 1) shown.push('--')
      previous = line
      shown.push(`${line}${matches.has(line) ? ':' : '-'}${text}`)
    },
  })
  const take = (piece: Uint8Array): boolean => {
    reader.take(piece)
    return reader.count() < last
  }
  await readSlices(file, take, call.context)
  reader.finish()
  return shown
}
