import { entryStatus } from '../base/entries.ts'
import { isUtf8 } from 'node:buffer'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularFile } from '../base/regular-file.ts'
import { makeTemporaryFolder } from '../base/temporary-folder.ts'
import { BatonError } from '../base/error.ts'
import { runGit } from '../base/git.ts'
import type { RunContext } from '../event/context.ts'
import type { EntryState, Stretch } from './changes.ts'
import { bytesOf, type Contents } from './contents.ts'

/** What a file holds when the changes of a run are taken out of it and later ones stay. */
export interface Merge {
  readonly bytes: Buffer
  /** Places that a person has to decide on; they are marked as git marks them. */
  readonly conflicts: number
}

/**
 * Takes what a run did out of a text file (absolute path) that somebody has changed since, or in between: a three-way merge
 * for each stretch, from the last one back.
 */
export async function mergeBack(
  stretches: readonly Stretch[],
  target: string,
  { contentOf }: Contents,
  { services }: RunContext,
): Promise<Merge | { readonly why: string }> {
  if (entryStatus(target)?.isFile() !== true) return { why: 'it has changed since the run, and is no file now' }
  let merged: Merge = { bytes: readRegularFile(target), conflicts: 0 }
  const textOf = (state: EntryState | undefined): Buffer | string => {
    if (state?.kind !== 'file') return 'it has changed since the run, and was made, deleted or moved by it'
    const content = contentOf(state)
    if (content.kind === 'none') return content.why
    const bytes = bytesOf(content)
    return isText(bytes) ? bytes : 'it has changed since the run, and is no text that could be merged'
  }
  for (const { first, left } of stretches.toReversed()) {
    const [before, after] = [textOf(first), textOf(left.at(-1))]
    if (typeof before === 'string') return { why: before }
    if (typeof after === 'string') return { why: after }
    if (!isText(merged.bytes)) return { why: 'it has changed since the run, and is no text that could be merged' }
    const { bytes, conflicts } = await mergeTexts({ mine: merged.bytes, base: after, theirs: before }, services)
    merged = { bytes, conflicts: merged.conflicts + conflicts }
  }
  return merged
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

interface Texts {
  readonly mine: Buffer
  readonly base: Buffer
  readonly theirs: Buffer
}

const timeLimitMs = 60_000
/** From here on the exit code of `git merge-file` is an error; below it counts conflicts, of which it counts 127 at most. */
const firstError = 128

/** @throws BatonError FILE_FAILED when git is not there, or fails */
async function mergeTexts({ mine, base, theirs }: Texts, { env, signal }: RunContext['services']): Promise<Merge> {
  const { path: folder, remove } = makeTemporaryFolder('baton-merge-')
  try {
    const file = join(folder, 'mine')
    await writeFile(file, mine, { mode: 0o600 })
    await writeFile(join(folder, 'base'), base, { mode: 0o600 })
    await writeFile(join(folder, 'theirs'), theirs, { mode: 0o600 })
    const labels = ['-L', 'present', '-L', 'after the run', '-L', 'before the run']
    const args = ['merge-file', '-q', ...labels, 'mine', 'base', 'theirs']
    // conflicts look the same for everybody
    const settings = [['merge.conflictStyle', 'merge']] as const
    const own = { PATH: env['PATH'], HOME: folder }
    const { end, stderr } = await runGit(
      { args, cwd: folder, env: own, settings, timeLimitMs, maxOutputBytes: 4096 },
      signal,
    )
    if (end.kind === 'exited' && end.code < firstError) return { bytes: await readFile(file), conflicts: end.code }
    const hint = 'Without --merge files that have changed since are left alone.'
    const why =
      end.kind === 'not_started' ? 'git, which merges them, is not installed' : `git merge-file failed: ${stderr.text}`
    throw new BatonError('FILE_FAILED', why, { hint })
  } finally {
    remove()
  }
}
