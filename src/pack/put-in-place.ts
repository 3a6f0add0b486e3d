import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import type { PackFile } from './pack-files.ts'

/** Hidden, so that an incomplete folder is never used as a pack. */
const temporary = '.baton-pack-'
const leftoverMs = 60 * 60_000

/**
 * Installs a pack into its folder completely or not at all: it is written to a temporary folder, then renamed. The old
 * content is restored if that fails. A crash leaves the old pack, the new one, or for a moment none.
 * @throws BatonError FILE_FAILED
 */
export function putInPlace(files: readonly PackFile[], target: string, { root }: { readonly root: string }): void {
  try {
    mkdirSync(root, { recursive: true })
    removeLeftovers(root)
    const id = randomBytes(6).toString('hex')
    const [fresh, old] = [join(root, `${temporary}${id}`), join(root, `${temporary}${id}-old`)]
    try {
      writeAll(files, fresh)
      mkdirSync(dirname(target), { recursive: true })
      swap(fresh, target, old)
    } finally {
      for (const path of [fresh, old]) rmSync(path, { recursive: true, force: true })
    }
  } catch (error) {
    throw new BatonError('FILE_FAILED', `${target} cannot be written: ${messageOf(error)}`, {
      hint: 'Check that the folder exists and that you may write to it. The installed pack is unchanged.',
      cause: error,
    })
  }
}

function writeAll(files: readonly PackFile[], folder: string): void {
  mkdirSync(folder)
  for (const { path, bytes, isExecutable } of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes, { flag: 'wx' })
    if (isExecutable) chmodSync(file, statSync(file).mode | 0o111)
  }
}

function swap(fresh: string, target: string, old: string): void {
  const wasThere = entryExists(target)
  if (wasThere) renameSync(target, old)
  try {
    renameSync(fresh, target)
  } catch (error) {
    if (wasThere) renameSync(old, target)
    throw error
  }
}

/** Also for a dangling link. */
export function entryExists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}

/** Folders of killed installations. Others may be in progress, so only old ones are removed. */
function removeLeftovers(root: string): void {
  for (const name of readdirSync(root)) {
    const path = join(root, name)
    if (!name.startsWith(temporary) || !existsSync(path)) continue
    if (Date.now() - statSync(path).mtimeMs > leftoverMs) rmSync(path, { recursive: true, force: true })
  }
}
