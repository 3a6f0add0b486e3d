import type { Steps } from '../../base/steps.ts'
import { applyChanges } from '../../tool/changes/apply.ts'
import { fileChangesInstruction } from '../../tool/changes/instruction.ts'
import { parseChanges } from '../../tool/changes/parse.ts'
import type { ChangeItem } from '../../tool/changes/plan.ts'
import type { Place } from '../../event/effects.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, type LuaTable, optionsTable, pathText, text, textOption } from './arguments.ts'
import { listing, loadSteps } from './file-lists.ts'
import type { HostModule, Section } from './module.ts'
import { resolvePath } from './resolve-path.ts'

/**
 * `aip.udiffx`: file changes in the answers of models (spec/aipack.md 6.2, 6.5). `apply_file_changes` never raises for
 * what an answer holds: the status names each change that failed and why.
 */
export const udiffxModule: HostModule = {
  name: 'aip.udiffx',
  functions: {
    /**
     * `aip.udiffx.apply_file_changes(text, base_dir?, {extrude?}?) → status, string?`
     * Makes the file changes that stand in an answer as `FILE_CHANGES`. Never an error for what the answer holds: the
     * status has `success`, `total_count`, `success_count`, `fail_count` and `items`, each with `file_path`, `kind`,
     * `success`, and where it failed `error_msg` and `error_hunks`. With `extrude = "content"` the second value is the
     * text without the changes.
     */
    apply_file_changes: { effect: 'act', call: applyFileChanges },
    /**
     * `aip.udiffx.load_files_context(globs, {base_dir?, absolute?}?) → string?`
     * The files that match as `<FILE_CONTENT path="…">` blocks, for a prompt; nil when nothing matches.
     */
    load_files_context: listing(loadFilesContext),
    /**
     * `aip.udiffx.file_changes_instruction() → string`
     * The text for a prompt that tells a model how to write file changes.
     */
    file_changes_instruction: { effect: 'pure', call: () => [fileChangesInstruction] },
  },
}

function applyFileChanges(args: readonly LuaValue[], { context }: Section, at: Place): readonly LuaValue[] {
  const name = 'aip.udiffx.apply_file_changes'
  const answer = text(args[0], name, 'the content')
  const given = args[1] === undefined || args[1] === null ? '' : pathText(args[1], name, 'the base folder')
  const extrude = textOption(optionsTable(args[2], name), 'extrude', name)
  if (extrude !== undefined && extrude !== 'content') {
    throw argumentError(name, `the option extrude must be "content", but was "${extrude}"`)
  }
  const { directives, rest } = parseChanges(answer)
  const status = statusTable(applyChanges(directives, resolvePath(given, context), { context, at }))
  return extrude === undefined ? [status] : [status, rest]
}

function statusTable(items: readonly ChangeItem[]): LuaTable {
  const successCount = items.filter(({ isSuccess }) => isSuccess).length
  return {
    success: successCount === items.length,
    total_count: items.length,
    success_count: successCount,
    fail_count: items.length - successCount,
    items: items.map(itemTable),
  }
}

function itemTable({ filePath, kind, isSuccess, error, failedHunks }: ChangeItem): LuaTable {
  const hunks = failedHunks?.map(({ body, cause }) => ({ hunk_body: body, cause }))
  return {
    file_path: filePath,
    kind,
    success: isSuccess,
    ...(error === undefined ? {} : { error_msg: error }),
    ...(hunks === undefined ? {} : { error_hunks: hunks }),
  }
}

/** One block for each file that the globs find, in the order of `aip.file.list`; nil when there is none. */
function* loadFilesContext([globs, options]: readonly LuaValue[], section: Section): Steps<LuaValue> {
  const name = 'aip.udiffx.load_files_context'
  const records = yield* loadSteps(globs, options, { section, name })
  return records.length === 0 ? undefined : records.map((record) => contextBlock(record, name)).join('\n')
}

function contextBlock(record: LuaTable, name: string): string {
  const path = text(record['path'], name, 'the path')
  const quote = path.includes('"') ? "'" : '"'
  const content = text(record['content'], name, 'the content')
  const end = content === '' || content.endsWith('\n') ? '' : '\n'
  return `<FILE_CONTENT path=${quote}${path}${quote}>\n${content}${end}</FILE_CONTENT>\n`
}
