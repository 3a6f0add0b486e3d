import type { Steps } from '../../base/concurrency.ts'
import type { FileChange } from '../../event/event.ts'
import type { LuaValue } from '../engine.ts'
import { textThread } from './worker-call.ts'
import { type ActCall, type HostCall, type LuaTable, text } from './call.ts'
import { loadRecords } from './file.ts'
import { acting, type HostModule, listing, pure, several } from './module.ts'

/**
 * `aip.udiffx`: file changes in the answers of models. The code that parses and applies them is loaded on the first
 * call.
 */
export const udiffxModule: HostModule = {
  name: 'aip.udiffx',
  functions: {
    /**
     * `aip.udiffx.apply_file_changes(text, base_dir?, {extrude?}?) → status, string?`
     * Applies the file changes in the `FILE_CHANGES` of an answer. Invalid changes do not raise an error: the status
     * has `success`, `total_count`, `success_count`, `fail_count` and `items`, each with `file_path`, `kind`,
     * `success`, and, if it failed, `error_msg` and `error_hunks`. With `extrude = "content"` the second value is the
     * text without the changes.
     */
    apply_file_changes: acting(applyFileChanges),
    /**
     * `aip.udiffx.load_files_context(globs, {base_dir?, absolute?}?) → string?`
     * The files that match, as `<FILE_CONTENT path="…">` blocks for a prompt; nil if nothing matches.
     */
    load_files_context: listing(loadFilesContext),
    /**
     * `aip.udiffx.file_changes_instruction() → string`
     * Prompt text that tells a model how to write file changes.
     */
    file_changes_instruction: pure(async () => {
      const { fileChangesInstruction } = await import('../../tool/changes/instruction.ts')
      return fileChangesInstruction
    }),
  },
}

async function applyFileChanges(call: ActCall) {
  const answer = call.text(0, 'the content')
  const baseDir = call.resolve(call.has(1) ? call.path(1, 'the base folder') : '')
  const wantsRest = call.options(2).extrude()
  const { applyChanges, fileChangeReport } = await import('../../tool/changes/plan.ts')
  const thread = await textThread(call.section)
  const { directives, rest } = await thread.work('parseChanges', answer)
  const status = statusTable((await applyChanges(directives, { baseDir, thread }, call)).map(fileChangeReport))
  return wantsRest ? several(status, rest) : status
}

function statusTable(items: readonly FileChange[]): LuaTable {
  const successCount = items.filter(({ success }) => success).length
  return {
    success: successCount === items.length,
    total_count: items.length,
    success_count: successCount,
    fail_count: items.length - successCount,
    items: items.map(withHunkLines),
  }
}

/** Scripts get hunks with a line break after the last line. */
function withHunkLines({ error_hunks: hunks, ...item }: FileChange): LuaValue {
  if (hunks === undefined) return { ...item }
  return { ...item, error_hunks: hunks.map(({ hunk_body: body, cause }) => ({ hunk_body: `${body}\n`, cause })) }
}

/** One block for each file that matches the globs, in the order of `aip.file.list`; nil if there is none. */
function* loadFilesContext(call: HostCall): Steps<LuaValue> {
  const records = yield* loadRecords(call)
  return records.length === 0 ? undefined : records.map((record) => contextBlock(record, call.name)).join('\n')
}

function contextBlock(record: LuaTable, name: string): string {
  const path = text(record['path'], name, 'the path')
  const quote = path.includes('"') ? "'" : '"'
  const content = text(record['content'], name, 'the content')
  const end = content.endsWith('\n') ? '' : '\n'
  return `<FILE_CONTENT path=${quote}${path}${quote}>\n${content}${end}</FILE_CONTENT>\n`
}
