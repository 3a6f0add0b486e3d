import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isUtf8 } from 'node:buffer'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { listFiles, type ListedFile } from '../base/glob.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Settings } from '../config/settings.ts'
import { mayRead } from '../tool/guard.ts'
import type { LoadedFile } from './messages.ts'

/** A file a glob matched: its path relative to base_dir and its size in bytes. */
export interface FileRef {
  readonly path: string
  readonly size: number
}

/** Everything the globs of a request name, listed; contents are read by `loadFiles`. */
export interface FileSet {
  readonly knowledge: readonly FileRef[]
  readonly structure: readonly string[]
  readonly context: readonly FileRef[]
  /** Undefined when there are no working globs. */
  readonly groups: readonly (readonly FileRef[])[] | undefined
}

/**
 * Lists the files of a request; the content of the prompt file itself is never part of it (DESIGN 4).
 * Each kind is one observation, so a resumed run sees the same list.
 * @throws BatonError OUTSIDE_WORKSPACE when a glob or a link leads out of the workspace
 */
export function listFileSet(
  { globs, base_dir: baseDir }: Settings,
  { context, promptFile }: { readonly context: RunContext; readonly promptFile: string },
): FileSet {
  const list = (kind: string, patterns: readonly string[]): readonly FileRef[] => {
    if (patterns.length === 0) return []
    const at = [...context.at, 'files', kind]
    return context.effects.observe(at, { name: 'file.list', args: [...patterns] }, () =>
      listed(kind, () => listNoted(kind, patterns, { baseDir, context }))
        .filter(({ path }) => kind === 'structure' || join(baseDir, path) !== promptFile)
        .filter(({ absolute }) => context.rights === undefined || mayRead(absolute, context))
        .map(({ path }) => ({ path, size: statSync(join(baseDir, path)).size })),
    )
  }
  return {
    knowledge: list('knowledge', globs.knowledge),
    structure: list('structure', globs.structure).map(({ path }) => path),
    context: list('context', globs.context),
    groups:
      globs.working.length === 0
        ? undefined
        : globs.working.flatMap((entry, index) => workingGroups(entry, index, list)),
  }
}

function listNoted(
  kind: string,
  globs: readonly string[],
  { baseDir, context }: { readonly baseDir: string; readonly context: RunContext },
): readonly ListedFile[] {
  const root = context.workspace
  const files = listFiles(globs, { baseDir, root })
  const found = files.map(({ absolute }) => absolute)
  context.reads?.list({ globs, baseDir, root, found, reads: kind === 'structure' ? 'names' : 'content' })
  return files
}

/** What a glob error carries as its cause: the key of the front matter that holds the glob. */
interface GlobCause {
  readonly globKey: string
}

function listed<T>(kind: string, list: () => T): T {
  try {
    return list()
  } catch (error) {
    if (!(error instanceof BatonError)) throw error
    const cause: GlobCause = { globKey: `${kind.split('/')[0]}_globs` }
    throw new BatonError(error.code, error.message, {
      cause,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    })
  }
}

/** A glob gives one group per file; a list of globs gives one group with all its files. */
function workingGroups(
  entry: string | readonly string[],
  index: number,
  list: (kind: string, patterns: readonly string[]) => readonly FileRef[],
): readonly (readonly FileRef[])[] {
  const files = list(`working/${index}`, typeof entry === 'string' ? [entry] : entry)
  if (typeof entry === 'string') return files.map((file) => [file])
  return files.length === 0 ? [] : [files]
}

/**
 * Reads files as text, each one observation. Files that are not UTF-8 text, or that are gone since they were listed, are
 * left out with a warning.
 */
export function loadFiles(
  paths: readonly string[],
  { base_dir: baseDir }: Settings,
  context: RunContext,
): readonly LoadedFile[] {
  const loaded: LoadedFile[] = []
  const left: { [reason: string]: string[] } = {}
  for (const path of paths) {
    const file = resolve(baseDir, path)
    const call = { name: 'file.read', args: [displayPath(context.workspace, file)] }
    const read = context.effects.observe([...context.at, 'read', path], call, () => readText(file))
    if (typeof read === 'string') {
      context.reads?.file(file, read)
      loaded.push({ path, content: read })
    } else (left[read.missing] ??= []).push(path)
  }
  for (const [reason, files] of Object.entries(left)) {
    emit(context, { type: 'warning', message: `left out of the prompt, ${reason}: ${files.join(', ')}` })
  }
  return loaded
}

/** Why there is no text; plain JSON, because it is recorded. */
type Missing = { readonly missing: 'not text' | 'gone' }

function readText(file: string): string | Missing {
  try {
    const bytes = readFileSync(file)
    return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : { missing: 'not text' }
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return { missing: 'gone' }
    throw new BatonError('FILE_FAILED', `${file} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Refuses a request whose files are larger than `max_files_size_kb` before anything is read or paid.
 * @throws BatonError LIMIT
 */
export function checkSize(refs: readonly FileRef[], { max_files_size_kb: limit }: Settings): void {
  const total = refs.reduce((sum, { size }) => sum + size, 0)
  if (total <= limit * 1000) return
  const largest = refs.toSorted((left, right) => right.size - left.size).slice(0, 3)
  throw new BatonError(
    'LIMIT',
    `the files of this request have ${Math.ceil(total / 1000)} kB, above max_files_size_kb = ${limit}`,
    {
      hint: `Narrow the globs or raise the limit. Largest: ${largest.map(({ path, size }) => `${path} (${Math.ceil(size / 1000)} kB)`).join(', ')}.`,
    },
  )
}
