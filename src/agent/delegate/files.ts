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

/** The files that hold a team's state and its list. */
export interface TeamFiles {
  readonly state: StateFile
  readonly list: ListFile
  /** The path of the list as shown to users. */
  readonly shown: string
}

/**
 * The files of the team at the place of the context: the state in the run's folder, the list next to it or in the
 * workspace. In memory for a run that keeps no record; a dry run writes no list to the workspace.
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

/** The default team of a run needs no folder of its own. */
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
      // others act on this state, so it must survive a power failure
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

/** Reads and writes as a change by the model would: within the rights of the run, recorded, and undoable. */
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
