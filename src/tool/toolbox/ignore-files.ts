import { existsSync, fstatSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { isInside } from '../../base/files.ts'
import { type IgnoreFile, parseIgnoreFile } from '../../base/gitignore.ts'
import { readRegular } from '../../base/regular-file.ts'

/** The ignore files that apply in a folder, nearest first, each with the path segments from its folder to this one. */
export type IgnoreChain = readonly { readonly file: IgnoreFile; readonly steps: readonly string[] }[]

const mostBytes = 1024 * 1024

/** The ignore files above a folder, up to its repository or workspace. Paths are absolute, links resolved. */
export function ignoresAbove(folder: string, workspace: string): IgnoreChain {
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
export function withOwn(chain: IgnoreChain, folder: string): IgnoreChain {
  const file = readIgnoreFile(folder)
  return file === undefined ? chain : [{ file, steps: [] }, ...chain]
}

/** The chain in a subfolder, without the subfolder's own ignore file. */
export function chainBelow(chain: IgnoreChain, name: string): IgnoreChain {
  return chain.map(({ file, steps }) => ({ file, steps: [...steps, name] }))
}

/** Whether an entry of the chain's folder is ignored: the nearest file with a matching pattern decides. */
export function isIgnored(chain: IgnoreChain, name: string, kind: 'file' | 'folder'): boolean {
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
