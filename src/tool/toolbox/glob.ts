import { join, resolve } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { finishInSlices } from '../../base/concurrency.ts'
import { literalGlob } from '../../base/literal-glob.ts'
import { BatonError } from '../../base/error.ts'
import { callPlace } from '../../event/place.ts'
import { statusAt } from '../workspace-reads.ts'
import { defineTool, type Toolbox } from './kind.ts'
import { pathSubject, permittedPath, toolPath, visibleTo } from './paths.ts'
import { walkFiles } from './walk.ts'

interface GlobInput {
  readonly pattern: string
  readonly path?: string
}

/** Most paths in one result. */
const mostPaths = 20_000

/** Finds files by name. */
export const glob = defineTool<GlobInput>({
  name: 'glob',
  description: modelText`Find files by a path pattern, such as "src/**/*.ts" or "**/{test,spec}/*.js": * and ? within a name, ** for any folders, [a-z], {a,b}. The paths are sorted. Files ignored by .gitignore and folders such as node_modules are skipped unless the pattern names such a folder.`,
  parameters: {
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, description: modelText`The pattern, relative to path.` },
      path: { type: 'string', minLength: 1, description: modelText`The folder to search; default: the current one.` },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  subject: (input, box) => pathSubject(split(input, box).folder, box),
  async run(input, call) {
    const { effects, signal } = call.context.services
    return effects.observeAsync(callPlace(call.at, 0), { name: 'glob', args: { ...input } }, async () => {
      const root = permittedPath(call.permit)
      if (statusAt(root)?.kind !== 'folder') {
        throw new BatonError('FILE_FAILED', modelText`there is no folder ${toolPath(root, call.box)}`)
      }
      const { workspace } = call.context.scope.folders
      const options = { workspace, glob: split(input, call.box).glob, isVisible: visibleTo('glob', call) }
      const { files, isWhole } = await finishInSlices(walkFiles(root, options), signal)
      if (files.length === 0) return { text: modelText`[no file matches]` }
      const given = files.slice(0, mostPaths).map((file) => toolPath(file, call.box))
      if (given.length === files.length && isWhole) return { text: given.join('\n') }
      const all = isWhole ? `${files.length}` : `more than ${files.length}`
      return { text: [...given, `[the first ${given.length} of ${all} files; narrow the pattern]`].join('\n') }
    })
  },
})

/**
 * Names before the first wildcard become part of the folder, so absolute patterns and `..` are permitted by where they
 * start. A path that exists has no wildcards.
 */
function split(
  { pattern: written, path = '.' }: GlobInput,
  { baseDir }: Pick<Toolbox, 'baseDir'>,
): { readonly folder: string; readonly glob: string } {
  const pattern = literalGlob(written, resolve(baseDir, path))
  if (pattern.startsWith('!')) return { folder: path, glob: pattern }
  const steps = pattern.split('/')
  const wild = steps.findIndex((step) => /[*?[\]{}\\]/.test(step))
  const fixed = wild === -1 ? steps.length - 1 : wild
  const start = steps.slice(0, fixed).join('/')
  const folder = pattern.startsWith('/') ? start || '/' : join(path, start)
  return { folder: resolve('/', folder) === folder ? folder : folder || '.', glob: steps.slice(fixed).join('/') }
}
