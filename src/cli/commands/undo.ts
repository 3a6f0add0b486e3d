import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BatonError } from '../../base/error.ts'
import { entryPath } from '../../base/files.ts'
import { editDistance } from '../../base/suggest.ts'
import { findAnyRun, nearRuns, runIds } from '../../journal/find-run.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import type { SecretMask } from '../../journal/secrets.ts'
import { openSigningKey, type SigningKey } from '../../journal/signing.ts'
import { isOwnRun } from '../../journal/own-run.ts'
import type { Outcome } from '../../undo/perform.ts'
import { openChanges } from '../../undo/open-changes.ts'
import { undoRun, type UndoReport } from '../../undo/run.ts'
import { maskFor } from '../../wiring/run-context.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace, type Workplace } from '../io.ts'
import { placeOfRun, type WorkspaceRuns, workspaceRuns } from '../runs-folder.ts'

/**
 * `baton undo [RUN] [FILES…]`: restores what a run changed. Exit code 1 if a file could not be restored or has
 * conflicts.
 */
export async function undoCommand(flags: Flags<'undo'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const runs = await workspaceRuns(flags, workplace)
  const { settings } = runs
  const { env, cwd, home } = workplace
  const key = openSigningKey({ env, home })
  const mask = await maskFor({ settings }, env)
  const { run, files } = readWords(flags.words, runs.folder)
  const folder = run === undefined ? await newestWithChanges(runs, mask, key) : findAnyRun(runs.folder, run)
  const { workspace, says } = await placeOfRun(folder, runs, workplace)
  if (says !== undefined) workplace.note(`${says}\n`)
  const report = await undoRun({
    folder,
    workspace: realpathSync(workspace),
    env,
    home,
    mask,
    key,
    signal: io.signal,
    // a link means the link itself, not its target
    files: files.map((file) => entryPath(resolve(cwd, file))),
    noFile: (file) => mistypedRun(file, files, { cwd, folder: runs.folder }),
    merges: flags.merge,
    dry: flags.dry,
  })
  return show(report, flags, workplace)
}

/** The first word is a run if it is the start of a run id; else all words are files. */
function readWords(
  words: readonly string[],
  folder: string,
): { readonly run?: string; readonly files: readonly string[] } {
  const [first, ...others] = words
  if (first === undefined) return { files: [] }
  const isRun =
    first === 'last' || (/^\d{2,8}(?:-[0-9a-f-]*)?$/.test(first) && runIds(folder).some((id) => id.startsWith(first)))
  if (isRun || /^\d{8}-\d{6}/.test(first)) return { run: first, files: others }
  return { files: words }
}

/** The error for a file that no run has changed, if its name looks like a run id. */
function mistypedRun(
  file: string,
  words: readonly string[],
  { cwd, folder }: { readonly cwd: string; readonly folder: string },
): BatonError | undefined {
  const word = words.find((one) => entryPath(resolve(cwd, one)) === file)
  if (word === undefined || existsSync(file)) return undefined
  const near = nearRuns(folder, word)
  const looksLikeRun = /^\d{6,8}(?:-[0-9a-f-]*)?$/.test(word)
  const isLast = editDistance(word, 'last', 1) <= 1
  if (near.length === 0 && !looksLikeRun && !isLast) return undefined
  const meant = isLast ? 'last' : near.join(', ')
  return usageError(
    `this workspace has no run ${word}, and no file of that name`,
    meant === '' ? 'See baton runs for the ids.' : `Nearest: ${meant}. See baton runs.`,
  )
}

/** @throws BatonError USAGE if no run of the workspace has changed files */
async function newestWithChanges({ folder }: WorkspaceRuns, mask: SecretMask, key: SigningKey): Promise<string> {
  for (const id of runIds(folder)) {
    if (!(await isOwnRun(join(folder, id), key))) continue
    const { changes } = await openChanges(join(folder, id), mask, key)
    if (changes.length > 0) return join(folder, id)
  }
  throw usageError('no run of this workspace has changed files', 'See baton runs.')
}

const words: {
  readonly [outcome in Outcome]: { readonly done: string; readonly dry: string; readonly isLeft: boolean }
} = {
  restored: { done: 'restored', dry: 'would restore', isLeft: false },
  removed: { done: 'removed', dry: 'would remove', isLeft: false },
  moved: { done: 'moved back', dry: 'would move back', isLeft: false },
  merged: { done: 'merged', dry: 'would merge', isLeft: false },
  conflicts: { done: 'merged with conflicts', dry: 'would merge with conflicts', isLeft: true },
  as_before: { done: 'as before the run', dry: 'as before the run', isLeft: false },
  refused: { done: 'left unchanged', dry: 'would leave unchanged', isLeft: true },
  failed: { done: 'failed', dry: 'would fail', isLeft: true },
}

function show(
  { run, by, items }: UndoReport,
  { dry, level }: Flags<'undo'>,
  { print, note, paint }: Workplace,
): number {
  const left = items.filter(({ outcome }) => words[outcome].isLeft)
  for (const { path, outcome, isFolder, why } of items) {
    if (outcome === 'as_before' && level !== 'verbose') continue
    print({ run, path, outcome, ...(dry && { dry }), ...(why !== undefined && { why }) }, () => {
      if (level === 'quiet' && !words[outcome].isLeft) return ''
      const text = paint(words[outcome].isLeft ? 'yellow' : 'green', words[outcome][dry ? 'dry' : 'done'])
      return `${text} ${harmlessName(path)}${isFolder ? '/' : ''}${why === undefined ? '' : `: ${harmless(why)}`}\n`
    })
  }
  if (items.every(({ outcome }) => outcome === 'as_before')) note(`all files are as they were before run ${run}\n`)
  if (left.some(({ outcome }) => outcome === 'refused')) {
    note(
      `${paint('cyan', 'hint')}: baton undo ${run} --merge merges later changes; baton runs show ${run} --diff shows what the run did\n`,
    )
  }
  if (by !== undefined) note(`undo this: baton undo ${by}\n`)
  return left.length > 0 ? 1 : 0
}
