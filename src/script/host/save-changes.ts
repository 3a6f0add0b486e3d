import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import type { Place } from '../../event/effects.ts'
import { applySearchReplace } from '../../tool/changes/search-replace.ts'
import { saveFile } from '../../tool/workspace-files.ts'
import { fileStatus, readText } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { pathText, text } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import type { ModuleFunction, Section } from './module.ts'
import { resolvePath } from './resolve-path.ts'

/**
 * `aip.file.save_changes(path, changes)` (spec/aipack.md 6.4): search and replace blocks, or the whole new content.
 * A file that is missing counts as empty.
 */
export const saveChanges: ModuleFunction = { effect: 'act', call: saveChangesOf }

function saveChangesOf(args: readonly LuaValue[], { context }: Section, at: Place): readonly LuaValue[] {
  const name = 'aip.file.save_changes'
  const path = pathText(args[0], name)
  const changes = text(args[1], name, 'the changes')
  const target = resolvePath(path, context)
  const present = context.effects.observe([...at, 'read'], { name, args: [path] }, () =>
    fileStatus(target, context) === undefined ? undefined : readText(target, context),
  )
  const { content, changedCount, failures } = applySearchReplace(present ?? '', changes)
  if (present === undefined && changedCount === 0) {
    throw new BatonError('FILE_FAILED', `there is no file ${displayPath(context.workspace, target)} to change`)
  }
  saveFile(target, content, { context, at })
  const failed = failures.map(({ search, replace, reason }) => ({ search, replace, reason }))
  const info = { changed_count: changedCount, ...(failed.length === 0 ? {} : { failed_changes: failed }) }
  return [fileInfo(path, fileStatus(target, context)), info]
}
