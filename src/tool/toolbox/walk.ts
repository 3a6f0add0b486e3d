import { type Dirent, existsSync, fstatSync, opendirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { compareBytes } from '../../base/byte-order.ts'
import type { Steps } from '../../base/concurrency.ts'
import { buildFolders } from '../../base/glob.ts'
import { parseGlob } from '../../base/glob-pattern.ts'
import { canContinue, enter, isExcluded, matchedGlob, planWalks, type WalkState } from '../../base/glob-walk.ts'
import { isOfSystem } from '../../base/system-folders.ts'
import { isInside } from '../../base/files.ts'
import { type IgnoreFile, parseIgnoreFile } from '../../base/gitignore.ts'
import { readRegular } from '../../base/regular-file.ts'

export interface WalkOptions {
  /** Absolute, links resolved: outside a repository, ignore files apply from here down. */
  readonly workspace: string
  /** A glob, relative to the folder where the walk starts. */
  readonly glob: string
  readonly isVisible: (path: string) => boolean
}

export interface Walked {
  /** Absolute paths, in byte order. */
  readonly files: readonly string[]
  /** False if there are more. */
  readonly isWhole: boolean
}

/** Most files that are found. */
const mostFiles = 200_000
/** Entries of a folder that are read and sorted at a time. */
const entriesAtOnce = 1_000

interface Folder {
  readonly path: string
  readonly state: WalkState
  readonly above: IgnoreChain
}

/**
 * The files below a folder (absolute, links resolved) that match a glob, found in small steps. Links are neither
 * followed nor listed; `.gitignore` files are respected, and folders of build tools are skipped unless the glob names
 * them. Unreadable folders are skipped.
 * @throws BatonError USAGE for an invalid glob, OUTSIDE_WORKSPACE for one that leaves the folder
 */
export function* walkFiles(root: string, { workspace, glob, isVisible }: WalkOptions): Steps<Walked> {
  const { walks, skipFolders } = planWalks([parseGlob(glob)], root, buildFolders)
  const [walk] = walks
  if (walk === undefined || walk.start !== root) return { files: [], isWhole: true }
  const files: string[] = []
  // a stack: the contents of a folder come before what follows the folder
  const open: (Folder | string)[] = [{ path: root, state: walk.state, above: ignoresAbove(root, workspace) }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      if (files.length === mostFiles) return { files, isWhole: false }
      if (isVisible(next)) files.push(next)
      if (files.length % 20 === 0) yield
      continue
    }
    yield
    const entries = yield* entriesOf(next, skipFolders)
    for (const entry of entries.toReversed()) open.push(entry)
  }
  return { files, isWhole: true }
}

/** The matching files of a folder, and its subfolders that may contain some, in path order. */
function* entriesOf(folder: Folder, skipFolders: ReadonlySet<string>): Steps<readonly (Folder | string)[]> {
  const found: { readonly key: string; readonly entry: Folder | string }[] = []
  const entries = yield* readFolder(folder.path)
  const hasFile = entries.some(({ name }) => name === '.gitignore')
  const chain = hasFile ? withOwn(folder.above, folder.path) : folder.above
  for (const [index, entry] of entries.entries()) {
    if (index % entriesAtOnce === entriesAtOnce - 1) yield
    const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : undefined
    if (kind === undefined) continue
    const { name } = entry
    const path = folder.path === '/' ? `/${name}` : `${folder.path}/${name}`
    const state = enter(folder.state, name, { literally: false })
    if (isExcluded(state, kind) || isIgnored(chain, name, kind)) continue
    if (kind === 'file') {
      if (matchedGlob(state) !== undefined) found.push({ key: name, entry: path })
    } else if (!skipFolders.has(name) && canContinue(state) && !isOfSystem(path)) {
      // whole paths are sorted in byte order, so the slash after a folder name counts
      found.push({ key: `${name}/`, entry: { path, state, above: chainBelow(chain, name) } })
    }
  }
  return (yield* sorted(found)).map(({ entry }) => entry)
}

function* readFolder(path: string): Steps<readonly Dirent[]> {
  const entries: Dirent[] = []
  try {
    const folder = opendirSync(path, { bufferSize: 256 })
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        entries.push(entry)
        if (entries.length % entriesAtOnce === 0) yield
      }
    } finally {
      folder.closeSync()
    }
  } catch {
    // unreadable: there is nothing to find
  }
  return entries
}

/** Sorts by key in slices, because a folder may have very many entries. */
function* sorted<T extends { readonly key: string }>(items: readonly T[]): Steps<readonly T[]> {
  let runs: (readonly T[])[] = []
  for (let from = 0; from < items.length; from += entriesAtOnce) {
    runs.push(items.slice(from, from + entriesAtOnce).toSorted((left, right) => compareBytes(left.key, right.key)))
    if (from > 0) yield
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? []))
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T extends { readonly key: string }>(left: readonly T[], right: readonly T[]): Steps<readonly T[]> {
  const all: T[] = []
  let [a, b] = [0, 0]
  for (;;) {
    const [first, second] = [left[a], right[b]]
    if (first === undefined && second === undefined) return all
    const isFirst = second === undefined || (first !== undefined && compareBytes(first.key, second.key) <= 0)
    all.push((isFirst ? first : second) as T)
    if (isFirst) a += 1
    else b += 1
    if (all.length % entriesAtOnce === 0) yield
  }
}

/** The ignore files that apply in a folder, nearest first, each with the path segments from its folder to this one. */
type IgnoreChain = readonly { readonly file: IgnoreFile; readonly steps: readonly string[] }[]

const mostBytes = 1024 * 1024

/** The ignore files above a folder, up to its repository or workspace. Paths are absolute, links resolved. */
function ignoresAbove(folder: string, workspace: string): IgnoreChain {
  return foldersAbove(folder, workspace).flatMap((from) =>
    withOwn([], from).map(({ file }) => ({ file, steps: relative(from, folder).split(sep) })),
  )
}

/** Nearest first. */
function foldersAbove(folder: string, workspace: string): readonly string[] {
  const above: string[] = []
  for (let at = folder; !existsSync(join(at, '.git')); at = dirname(at)) {
    if (at === dirname(at)) return above.filter((one) => isInside(workspace, one))
    above.push(dirname(at))
  }
  return above
}

/** The chain in a folder, including the folder's own ignore file, if any. */
function withOwn(chain: IgnoreChain, folder: string): IgnoreChain {
  const file = readIgnoreFile(folder)
  return file === undefined ? chain : [{ file, steps: [] }, ...chain]
}

/** The chain in a subfolder, without the subfolder's own ignore file. */
function chainBelow(chain: IgnoreChain, name: string): IgnoreChain {
  return chain.map(({ file, steps }) => ({ file, steps: [...steps, name] }))
}

/** Whether an entry of the chain's folder is ignored: the nearest file with a matching pattern decides. */
function isIgnored(chain: IgnoreChain, name: string, kind: 'file' | 'folder'): boolean {
  for (const { file, steps } of chain) {
    const verdict = file.says([...steps, name], kind)
    if (verdict !== undefined) return verdict === 'ignored'
  }
  return false
}

function readIgnoreFile(folder: string): IgnoreFile | undefined {
  try {
    const text = readRegular(join(folder, '.gitignore'), (descriptor) =>
      fstatSync(descriptor).size > mostBytes ? '' : readFileSync(descriptor, 'utf8'),
    )
    return parseIgnoreFile(text)
  } catch {
    return undefined
  }
}
