import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isInWorkspace } from '../../config/delegate.ts'
import { hasSystemCode } from '../../base/error.ts'
import { displayPath, writeFileAtomic } from '../../base/files.ts'
import { sha256 } from '../../base/hash.ts'
import { readRegularFile } from '../../base/regular-file.ts'
import { below, type RunContext } from '../../event/context.ts'
import { item, part, type Place, placeText } from '../../event/place.ts'
import { readablePath } from '../../tool/guard.ts'
import { saveFileOver } from '../../tool/workspace-files.ts'
import type { ListFile, StateFile } from './store.ts'

/** Where a team keeps its state and its list. */
export interface TeamFiles {
  readonly state: StateFile
  readonly list: ListFile
  /** The list as people name it. */
  readonly shown: string
}

/**
 * The files of the team at the place of the context: the state in the folder of the run, the list beside it or in the workspace. Of a run of
 * which nothing is kept they are in memory; in a dry run no list is written to the workspace.
 */
export function teamFiles(list: string, context: RunContext): TeamFiles {
  const { scope, services } = context
  const { workspace } = scope.folders
  const { ownFiles } = services
  const isOurs = !isInWorkspace(list) || scope.dry !== undefined
  if (ownFiles === undefined)
    return { state: inMemory(), list: isOurs ? inMemory() : ofWorkspace(list, context), shown: list }
  const folder = join(ownFiles.folder, 'team', ...folderOf(scope.at))
  const own = (name: string): StateFile => ownFile(join(folder, name), ownFiles)
  if (!isOurs) return { state: own('items.json'), list: ofWorkspace(list, context), shown: list.replace(/^\.\//, '') }
  const name = list.slice(list.lastIndexOf('/') + 1)
  const file = ownFile(join(folder, name), ownFiles)
  return { state: own('items.json'), list: replacing(file), shown: displayPath(workspace, join(folder, name)) }
}

/** The usual team of a run needs no folder of its own. */
function folderOf(at: Place): readonly string[] {
  const text = placeText(at)
  return text === 'task/0' ? [] : [sha256(text).slice(0, 12)]
}

function ownFile(
  file: string,
  { mask, unmask }: { readonly mask: (text: string) => string; readonly unmask: (text: string) => string },
): StateFile {
  return {
    read() {
      const text = readText(file)
      return text === undefined ? undefined : unmask(text)
    },
    write(text) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileAtomic(file, mask(text))
      // what others are told of it must not be gone after a power failure
      for (const path of [file, dirname(file)]) sync(path)
    },
  }
}

function replacing({ read, write }: StateFile): ListFile {
  return {
    read,
    write(text, over) {
      if (read() !== over) return false
      write(text)
      return true
    },
  }
}

/** Reads and writes as an answer of the model would: within the rights of the run, recorded, and to be undone. */
function ofWorkspace(list: string, context: RunContext): ListFile {
  const path = resolve(context.scope.folders.workspace, list)
  return {
    read: () => readText(readablePath(path, context)),
    write(text, over, number) {
      const at = below(context, part('list'), item(number))
      const call = { context: at, at: at.scope.at }
      return saveFileOver(path, { content: text, over: over === undefined ? null : sha256(over) }, call)
    },
  }
}

function inMemory(): StateFile & ListFile {
  let kept: string | undefined
  return {
    read: () => kept,
    write(text: string) {
      kept = text
      return true
    },
  }
}

function readText(file: string): string | undefined {
  try {
    return readRegularFile(file).toString('utf8')
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
