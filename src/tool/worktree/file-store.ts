import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { entryStatus } from '../../base/entries.ts'
import type { GitCommand } from '../../base/git.ts'
import { attemptGit, type GitPlace, partsOf, printedByGit } from './tree-git.ts'

/*
 * States of a work tree are kept in a repository of our own beside it: the user's repository gets no objects of them, and files are
 * compared byte by byte, whatever the attributes of the user's repository make of line ends.
 */

export interface FileStore {
  /** Absolute: the folder of the store. */
  readonly folder: string
  /** Absolute: the top of the work tree. */
  readonly top: string
  /** How git names contents. */
  readonly format: 'sha1' | 'sha256'
  readonly env: GitCommand['env']
}

interface StoreSource {
  /** Git's own folder of the user's repository, which all its work trees share; absolute. */
  readonly common: string
  /** What else is never looked at, from the top, as lines of a `.gitignore` file. */
  readonly ignored: readonly string[]
  /** What the work tree holds at its start, from the top. */
  readonly files: readonly string[]
}

/** Never a change of a work tree: what scripts keep for a run, and what a killed process has left of a write. */
const neverChanges = ['/.aipack/.session/', '.baton-*.tmp']

/**
 * Makes the store of a work tree, in place of what a killed process has left, and gives the id of its first state: that of these files.
 * What the user's repository has of them already is not stored again.
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
  // this file wins over those of the work tree
  const plain = '* -text -eol -filter -ident -working-tree-encoding\n'
  writeFileSync(join(folder, 'info', 'attributes'), plain)
  const ownIgnored = await excludedIn(common)
  writeFileSync(join(folder, 'info', 'exclude'), [...ownIgnored, ...neverChanges, ...ignored, ''].join('\n'))
  const list = join(folder, 'start')
  writeFileSync(list, files.join('\0'))
  // also what is tracked although it is ignored
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

/** The id of the state that the work tree is in now. */
export async function storeState(store: FileStore, signal: AbortSignal): Promise<string> {
  await inStore(store, ['add', '--all', '--', '.'], signal)
  return (await inStore(store, ['write-tree'], signal)).trim()
}

/** How one path differs in two states. Modes are those of git, `000000` for what is not there; ids are of contents. */
export interface StateDifference {
  /** From the top. */
  readonly path: string
  /** Of what was moved as it is. */
  readonly from?: string
  readonly modes: readonly [before: string, after: string]
  readonly ids: readonly [before: string, after: string]
}

/** How two states differ below a folder, from the top, by path. */
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

/** What two states differ in, as a diff that `git apply` takes, with paths from `below`. */
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

/** A content in a state; undefined where it is gone, or more than is read. */
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

/** A path from the top, as a line of a `.gitignore` file that means nothing else. */
export function ignoreLine(top: string, path: string): string {
  return `/${relative(top, path).replaceAll(/[\\*?[\]!# ]/g, String.raw`\$&`)}`
}
