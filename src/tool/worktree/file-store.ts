import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import { type GitCommand, gitFailed, gitFailure, runGit } from '../../base/git.ts'
import type { ProcessResult } from '../../base/process.ts'

/*
 * States of a work tree are kept in a separate repository beside it: no objects are added to the user's repository, and
 * files are compared byte by byte, whatever the attributes of the user's repository do to line endings.
 */

export interface FileStore {
  /** Absolute: the folder of the store. */
  readonly folder: string
  /** Absolute: the top of the work tree. */
  readonly top: string
  /** The object format of git. */
  readonly format: 'sha1' | 'sha256'
  readonly env: GitCommand['env']
}

interface StoreSource {
  /** The git folder of the user's repository that all its work trees share; absolute. */
  readonly common: string
  /** Further exclusions, from the top, as lines of a `.gitignore` file. */
  readonly ignored: readonly string[]
  /** The initial files of the work tree, from the top. */
  readonly files: readonly string[]
}

/** Never changes of a work tree: data that scripts keep for a run, and temporary files left by a killed process. */
const neverChanges = ['/.aipack/.session/', '.baton-*.tmp']

/**
 * Creates the store of a work tree, replacing any leftovers of a killed process, and returns the id of its first state,
 * which consists of these files. Objects that the user's repository already has are not stored again.
 */
export async function makeStore(
  store: FileStore,
  { common, ignored, files }: StoreSource,
  signal: AbortSignal,
): Promise<string> {
  const { folder, format, env } = store
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const init = ['init', '-q', '--bare', '--template=', `--object-format=${format}`, folder]
  await printedByGit({ cwd: dirname(folder), env }, init, signal)
  mkdirSync(join(folder, 'info'), { recursive: true })
  mkdirSync(join(folder, 'objects', 'info'), { recursive: true })
  writeFileSync(join(folder, 'objects', 'info', 'alternates'), `${join(common, 'objects')}\n`)
  // this file takes precedence over those in the work tree
  const plain = '* -text -eol -filter -ident -working-tree-encoding\n'
  writeFileSync(join(folder, 'info', 'attributes'), plain)
  const ownIgnored = await excludedIn(common)
  writeFileSync(join(folder, 'info', 'exclude'), [...ownIgnored, ...neverChanges, ...ignored, ''].join('\n'))
  const list = join(folder, 'start')
  writeFileSync(list, files.join('\0'))
  // --force: files may be tracked although they are ignored
  const add = ['add', '--force', `--pathspec-from-file=${list}`, '--pathspec-file-nul']
  if (files.length > 0) await inStore(store, add, signal)
  return (await inStore(store, ['write-tree'], signal)).trim()
}

async function excludedIn(common: string): Promise<readonly string[]> {
  const file = join(common, 'info', 'exclude')
  if (entryStatus(file)?.isFile() !== true) return []
  const { readRegularFile } = await import('../../base/regular-file.ts')
  return readRegularFile(file).toString('utf8').split('\n')
}

/** Stores the current state of the work tree and returns its id. */
export async function storeState(store: FileStore, signal: AbortSignal): Promise<string> {
  await inStore(store, ['add', '--all', '--', '.'], signal)
  return (await inStore(store, ['write-tree'], signal)).trim()
}

/**
 * How one path differs in two states. Modes are those of git, `000000` if the path does not exist; ids are of contents.
 */
export interface StateDifference {
  /** From the top. */
  readonly path: string
  /** The earlier path, if it was moved without changes. */
  readonly from?: string
  readonly modes: readonly [before: string, after: string]
  readonly ids: readonly [before: string, after: string]
}

/** The differences of two states below a folder (given from the top), by path. */
export async function stateDifferences(
  store: FileStore,
  [before, after]: readonly [string, string],
  below: string,
  signal: AbortSignal,
): Promise<readonly StateDifference[]> {
  const scope = below === '' ? [] : ['--', below]
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '-M100%', '--no-ext-diff', before, after, ...scope]
  const parts = partsOf(await inStore(store, args, signal))
  const found: StateDifference[] = []
  for (let at = 0; at < parts.length;) {
    const [from, to, old, now, status = ''] = (parts[at] ?? '').slice(1).split(' ')
    const isMove = status.startsWith('R')
    const [path = '', target = ''] = parts.slice(at + 1, at + 3)
    at += isMove ? 3 : 2
    const facts = { modes: [from ?? '', to ?? ''], ids: [old ?? '', now ?? ''] } as const
    found.push(isMove ? { path: target, from: path, ...facts } : { path, ...facts })
  }
  return found
}

/** The differences of two states as a diff for `git apply`, with paths from `below`. */
export function stateDiff(
  store: FileStore,
  [before, after]: readonly [string, string],
  below: string,
  signal: AbortSignal,
): Promise<string> {
  const scope = below === '' ? [] : [`--relative=${below}/`]
  const plain = ['-p', '--binary', '-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color', '--full-index']
  return inStore(store, ['diff-tree', ...plain, ...scope, before, after], signal)
}

/** A content in a state; undefined if it is gone or too large. */
export async function storedText(store: FileStore, id: string, signal: AbortSignal): Promise<string | undefined> {
  const { end, stdout } = await attemptGit(placeOf(store), [...namedStore(store), 'cat-file', 'blob', id], signal)
  return end.kind === 'exited' && end.code === 0 && stdout.lost === 0 ? stdout.text : undefined
}

function inStore(store: FileStore, args: readonly string[], signal: AbortSignal): Promise<string> {
  return printedByGit(placeOf(store), [...namedStore(store), ...args], signal)
}

function namedStore({ folder, top }: FileStore): readonly string[] {
  return [`--git-dir=${folder}`, `--work-tree=${top}`]
}

function placeOf({ top, env }: FileStore): GitPlace {
  return {
    cwd: top,
    env,
    settings: [
      ['core.autocrlf', 'false'],
      ['core.safecrlf', 'false'],
      ['core.looseCompression', '0'],
      ['core.quotePath', 'false'],
      ['core.splitIndex', 'false'],
      ['advice.addEmbeddedRepo', 'false'],
    ],
  }
}

/** A `.gitignore` line that matches exactly this path below the top. */
export function ignoreLine(top: string, path: string): string {
  return `/${relative(top, path).replaceAll(/[\\*?[\]!# ]/g, String.raw`\$&`)}`
}

/** Where git is called, and with which settings. */
export interface GitPlace extends Pick<GitCommand, 'cwd' | 'env'> {
  /** Additional settings, such as those that disable programs named by a repository. */
  readonly settings?: NonNullable<GitCommand['settings']>
  readonly indexFile?: string
}

const timeLimitMs = 30 * 60_000
const maxOutputBytes = 256 * 1024 * 1024

/** Runs git and returns its result, even if it fails; see `runGit` for the programs it prevents git from starting. */
export function attemptGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<ProcessResult> {
  return runGit({ ...place, args, timeLimitMs, maxOutputBytes }, signal)
}

/** The output of git. @throws Error if it fails */
export async function printedByGit(place: GitPlace, args: readonly string[], signal: AbortSignal): Promise<string> {
  const result = await attemptGit(place, args, signal)
  if (!gitFailed(result) && result.stdout.lost === 0) return result.stdout.text
  const command = args.find((word) => !word.startsWith('-')) ?? ''
  throw new Error(`git ${command}: ${gitFailed(result) ? gitFailure(result) : 'it printed too much'}`)
}

/** The items of a NUL-terminated list from git. */
export function partsOf(list: string): readonly string[] {
  return list.split('\0').filter((one) => one !== '')
}
