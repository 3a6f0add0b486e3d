import { accessSync, constants, type Dirent, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { buildFolders } from '../base/glob.ts'
import { emit, type Sender } from '../event/context.ts'
import type { PromptTarget } from '../load/prompt-target.ts'

/*
 * What a run will write is looked at before anything is paid for. Which files an answer changes is decided by the model:
 * only what cannot succeed whatever it decides is refused.
 */

/**
 * Refuses a run that cannot write what it has to: the answers below the `====` line of its prompt file, or any file
 * change at all.
 * @throws BatonError CONFIG_INVALID
 */
export async function refuseUnwritable({ spec, settings, workspace, placeOf }: PromptTarget): Promise<void> {
  const { file, source, document } = spec
  const shown = displayPath(workspace, file)
  if (source === 'file' && document.transcriptLine !== undefined && !isReplaceable(realPath(file))) {
    throw new BatonError('CONFIG_INVALID', `the answers cannot be written to ${shown}: its folder cannot be written`, {
      place: { file, line: document.transcriptLine, column: 1, text: document.text },
      hint: 'Remove its ==== line to get answers only on stdout, or make the folder writable.',
    })
  }
  if (settings.write_mode === false || hasWritableFolder(workspace)) return
  throw new BatonError('CONFIG_INVALID', `no file changes can be written: no folder of ${workspace} is writable`, {
    ...(spec.frontMatter['write_mode'] !== undefined && { place: await placeOf(['write_mode'], 'value') }),
    hint: 'Run it where you may write, show the changes only with --dry changes, or set write_mode = false.',
  })
}

/** Warns of files (absolute) that the model is shown, and whose changes would fail. */
export function warnOfUnwritable(files: readonly string[], workspace: string, context: Sender): void {
  const folders = new Map<string, boolean>()
  const isOpen = (file: string): boolean => {
    const folder = dirname(file)
    const known = folders.get(folder) ?? isReplaceable(realPath(file))
    folders.set(folder, known)
    return known
  }
  const [first, ...others] = files.filter((file) => !isOpen(file))
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  const message = `changes to ${displayPath(workspace, first)}${more} would fail: their folder cannot be written`
  emit(context, { type: 'warning', message, hint: 'Make it writable, or show the changes only with --dry changes.' })
}

/** Files are replaced by a new one in their folder. */
function isReplaceable(file: string): boolean {
  return isWritable(dirname(file))
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** So many folders are looked at; in a larger tree, one of the others may be writable. */
const mostFolders = 5_000

function hasWritableFolder(top: string): boolean {
  const folders = [top]
  for (let index = 0; index < folders.length; index += 1) {
    const folder = folders[index] ?? top
    if (index >= mostFolders || isWritable(folder)) return true
    // changes through links that lead out of the workspace are refused, and the other ones are in it
    for (const entry of buildFolders.includes(basename(folder)) ? [] : entriesOf(folder)) {
      if (entry.isDirectory() && entry.name !== '.git') folders.push(join(folder, entry.name))
    }
  }
  return false
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
