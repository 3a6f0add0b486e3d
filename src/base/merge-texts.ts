import { readFile, writeFile } from 'node:fs/promises'
import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import { type GitCommand, gitFailure, runGit } from './git.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

/** Two versions of a text and their common base. */
export interface Texts {
  readonly mine: Buffer
  readonly base: Buffer
  readonly theirs: Buffer
}

/** Labels at the conflict markers: who each text is by. */
export interface MergeLabels {
  readonly mine: string
  readonly base: string
  readonly theirs: string
}

export interface MergedText {
  readonly bytes: Buffer
  /** Places that a person has to decide; they are marked as git marks them. */
  readonly conflicts: number
}

const timeLimitMs = 60_000
/**
 * From here on the exit code of `git merge-file` is an error; below, it is the number of conflicts, counted up to 127.
 */
const firstError = 128

/** Whether bytes are a text that can be merged. */
export function isMergeable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

/** A three-way merge by git that ignores the user's settings. @throws Error if git is missing or fails */
export async function mergeTexts(
  { mine, base, theirs }: Texts,
  labels: MergeLabels,
  { env, signal }: { readonly env: GitCommand['env']; readonly signal: AbortSignal },
): Promise<MergedText> {
  const { path: folder, remove } = makeTemporaryFolder('baton-merge-')
  try {
    const file = join(folder, 'mine')
    await writeFile(file, mine, { mode: 0o600 })
    await writeFile(join(folder, 'base'), base, { mode: 0o600 })
    await writeFile(join(folder, 'theirs'), theirs, { mode: 0o600 })
    const named = ['-L', labels.mine, '-L', labels.base, '-L', labels.theirs]
    const args = ['merge-file', '-q', ...named, 'mine', 'base', 'theirs']
    // conflicts look the same for everybody
    const settings = [['merge.conflictStyle', 'merge']] as const
    const own = { PATH: env['PATH'], HOME: folder }
    const result = await runGit({ args, cwd: folder, env: own, settings, timeLimitMs, maxOutputBytes: 4096 }, signal)
    const { end } = result
    if (end.kind === 'exited' && end.code < firstError) return { bytes: await readFile(file), conflicts: end.code }
    throw new Error(
      end.kind === 'not_started'
        ? 'git, which merges them, is not installed'
        : `git merge-file failed: ${gitFailure(result)}`,
    )
  } finally {
    remove()
  }
}
