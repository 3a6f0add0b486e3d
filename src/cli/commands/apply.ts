import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { entryPath } from '../../base/files.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { listRuns } from '../../history/run-list.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { openSigningKey } from '../../journal/signing.ts'
import { type AppliedItem, applyRun } from '../../undo/apply.ts'
import { maskFor } from '../../wiring/run-context.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace } from '../io.ts'
import { placeOfRun, workspaceRuns } from '../runs-folder.ts'
import { withPlace } from '../with-place.ts'

const words: { readonly [outcome in AppliedItem['outcome']]: readonly [done: string, dry: string] } = {
  written: ['wrote', 'would write'],
  deleted: ['deleted', 'would delete'],
  moved: ['moved', 'would move'],
  copied: ['copied', 'would copy'],
  as_planned: ['as planned', 'as planned'],
  changed: ['left unchanged', 'would leave unchanged'],
}

/** `baton apply [RUN] [FILES…]`: makes what a dry run has planned. Exit code 1 if files were left out. */
export async function applyCommand(flags: Flags<'apply'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const runs = await workspaceRuns(flags, workplace)
  const { env, cwd, home, note, paint, print } = workplace
  const [first = 'last', ...files] = flags.words
  const folder = first === 'last' ? await newestPlanned(runs.folder) : findAnyRun(runs.folder, first)
  const { workspace, says } = await placeOfRun(folder, runs, workplace)
  if (says !== undefined) note(`${says}\n`)
  const { run, by, items } = await applyRun({
    folder,
    workspace: realpathSync(workspace),
    env,
    home,
    mask: await maskFor(runs, env),
    key: openSigningKey({ env, home }),
    signal: io.signal,
    files: files.map((file) => entryPath(resolve(cwd, file))),
    skipsChanged: flags.skipChanged,
    dry: flags.dry,
  })
  for (const { path, outcome } of items) {
    print({ run, path, outcome, ...(flags.dry && { dry: true }) }, () => {
      if (flags.level === 'quiet' && outcome !== 'changed') return ''
      const text = paint(outcome === 'changed' ? 'yellow' : 'green', words[outcome][flags.dry ? 1 : 0])
      return `${text} ${harmlessName(path)}${outcome === 'changed' ? ': it has changed since the dry run' : ''}\n`
    })
  }
  if (by !== undefined && flags.level !== 'quiet' && !flags.json) {
    note(`${paint('cyan', 'undo')}: baton ${withPlace(`undo ${by}`, flags)}\n`)
  }
  return items.some(({ outcome }) => outcome === 'changed') ? 1 : 0
}

/** @throws BatonError USAGE if there is none */
async function newestPlanned(runs: string): Promise<string> {
  for await (const { id, not_applied: isPlanned } of listRuns(runs, { limit: Infinity, fits: () => true })) {
    if (isPlanned === true) return join(runs, id)
  }
  throw usageError('no run of this workspace has changes that are not applied', 'A run with --dry changes has.')
}
