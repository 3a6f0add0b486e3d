import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, hasSystemCode } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { listFiles } from '../base/glob.ts'
import { sha256 } from '../base/hash.ts'
import { hashPrompt } from '../prompt/document.ts'
import type { TestCase, TestedFile } from './load-tests.ts'

/** A workspace for one test. Paths are absolute, links resolved. */
export interface WorkspaceCopy {
  /** Contains all files of the test. */
  readonly folder: string
  readonly workspace: string
  /** Maps a path of the original workspace to its path in the copy. */
  readonly at: (path: string) => string
  /** The text of a file of the copy by its path in the workspace; undefined if it does not exist. */
  readonly read: (path: string) => string | undefined
  /** Sorted paths of the files that were created, changed or deleted since the copy was made. */
  readonly changed: () => readonly string[]
  readonly remove: () => void
}

/**
 * Creates a temporary folder in `within` with everything that a test needs. The caller removes it.
 * @throws BatonError OUTSIDE_WORKSPACE for files that are not in the workspace, FILE_UNREADABLE for a glob that matches
 * nothing
 */
export async function copyWorkspace(
  test: Pick<TestCase, 'files' | 'placeOf'>,
  { workspace: original, needed, within }: Pick<TestedFile, 'workspace' | 'needed'> & { readonly within: string },
): Promise<WorkspaceCopy> {
  const folder = realpathSync(mkdtempSync(join(within, 'baton-prompt-test-')))
  const workspace = join(folder, 'workspace')
  const at = (path: string): string => join(workspace, relative(original, path))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const copy = (path: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true })
    cpSync(path, at(path), { recursive: true, dereference: true })
  }
  try {
    // marks the folder as a workspace; no glob matches it
    mkdirSync(join(workspace, '.aipack'), { recursive: true })
    for (const path of needed) copy(path)
    const { files } = test
    if (Array.isArray(files)) for (const path of await listed(test, files as readonly string[], original)) copy(path)
    else for (const [path, text] of Object.entries(files)) writeOwn(await ownPath(path, test, workspace), text)
  } catch (error) {
    remove()
    throw error
  }
  const before = contentsOf(workspace)
  const changed = (): readonly string[] => {
    const after = contentsOf(workspace)
    const paths = new Set([...before.keys(), ...after.keys()])
    return [...paths].filter((path) => before.get(path) !== after.get(path)).toSorted(compareBytes)
  }
  return { folder, workspace, at, changed, remove, read: (path) => readInside(resolve(workspace, path), workspace) }
}

/** The hash of every file by its path in the workspace. Ignores what a run adds to a prompt file below `====`. */
function contentsOf(workspace: string): ReadonlyMap<string, string> {
  const all = readdirSync(workspace, { recursive: true, withFileTypes: true, encoding: 'utf8' })
  return new Map(
    all.flatMap((entry): readonly [string, string][] => {
      const absolute = join(entry.parentPath, entry.name)
      const path = relative(workspace, absolute)
      if (!entry.isFile() || path.startsWith('.aipack/')) return []
      const bytes = readFileSync(absolute)
      return [[path, path.endsWith('.md') ? hashPrompt(bytes.toString('utf8')) : sha256(bytes)]]
    }),
  )
}

async function listed(
  { placeOf }: Pick<TestCase, 'placeOf'>,
  globs: readonly string[],
  workspace: string,
): Promise<readonly string[]> {
  const list = (patterns: readonly string[]) => listFiles(patterns, { baseDir: workspace, root: workspace })
  const found = list(globs)
  for (const [index, glob] of globs.entries()) {
    if (glob.startsWith('!') || found.some((file) => file.glob === index) || list([glob]).length > 0) continue
    throw new BatonError('FILE_UNREADABLE', `no file in the workspace matches ${JSON.stringify(glob)}`, {
      place: await placeOf(['files', index]),
      hint: 'Paths in "files" are relative to the workspace.',
    })
  }
  return found.map(({ absolute }) => absolute)
}

async function ownPath(path: string, { placeOf }: Pick<TestCase, 'placeOf'>, workspace: string): Promise<string> {
  const absolute = resolve(workspace, path)
  if (absolute !== workspace && isInside(workspace, realPath(absolute))) return absolute
  throw new BatonError('OUTSIDE_WORKSPACE', `the file ${JSON.stringify(path)} of a test is outside the workspace`, {
    place: await placeOf(['files', path]),
    hint: 'Paths in "files" are relative to the workspace.',
  })
}

function writeOwn(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** For a test, links that lead out of the copy do not exist. */
function readInside(path: string, workspace: string): string | undefined {
  if (!existsSync(path) || !isInside(workspace, realPath(path))) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasSystemCode(error, 'EISDIR')) return undefined
    throw error
  }
}
