import { join, resolve } from 'node:path'
import { readRegularFile } from '../base/regular-file.ts'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { realPath } from '../base/files.ts'
import { runGit } from '../base/git.ts'
import { listFiles } from '../base/glob.ts'
import { isSourceFile, isSourceFolder } from '../base/reads.ts'
import { linesOf } from '../prompt/lines.ts'
import { findLayout } from '../prompt/layout.ts'
import { isReserved } from '../settings/keys.ts'
import type { Surroundings } from '../config/locate.ts'

/** Files passed to a command, as named: a folder stands for the prompt files and agents in it. */
export interface NamedFiles {
  readonly name: string
  readonly files: readonly string[]
  readonly isFolder: boolean
}

/**
 * The files that arguments of a command line refer to. In a folder and its subfolders these are: `.aip` files, `.lua`
 * files that are not in a folder named `lua` (modules), and `.md` files with front matter for a prompt. Files that
 * globs skip or git ignores are skipped.
 * @throws BatonError USAGE for a folder without such a file
 */
export async function filesNamed(
  words: readonly string[],
  around: Pick<Surroundings, 'cwd' | 'env'>,
  signal: AbortSignal,
): Promise<readonly NamedFiles[]> {
  return Promise.all(
    words.map(async (name): Promise<NamedFiles> => {
      const folder = resolve(around.cwd, name)
      const isAgent = (): boolean => ['.aip', '.lua'].some((ending) => isSourceFile(`${folder}${ending}`, undefined))
      if (!isSourceFolder(folder, undefined) || isAgent()) return { name, files: [name], isFolder: false }
      const found = await filesInFolder(folder, around, signal)
      if (found.length > 0) return { name, isFolder: true, files: found.map((file) => join(name, file)) }
      throw new BatonError('USAGE', `${name} contains no prompt files and no agents`, {
        hint: 'Folders are searched for .aip and .lua files, and for .md files with front matter. Name other files explicitly.',
      })
    }),
  )
}

/** The same files of one folder, relative to it. */
export async function filesInFolder(
  folder: string,
  { env }: Pick<Surroundings, 'env'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const globs = ['**/*.md', '**/*.aip', '**/*.lua', '!**/lua/**']
  const all = listFiles(globs, { baseDir: folder, root: realPath(folder), allows: () => true }).toSorted(
    (left, right) => compareBytes(left.path, right.path),
  )
  const ignored = await ignoredIn(folder, env, signal)
  const isIgnored = (path: string): boolean =>
    ignored.some((one) => (one.endsWith('/') ? path.startsWith(one) : path === one))
  return all.flatMap(({ path, absolute }) =>
    isIgnored(path) || (path.endsWith('.md') && !isPrompt(absolute)) ? [] : [path],
  )
}

/** What git ignores in a folder, relative to it, folders with a trailing slash; empty outside of a repository. */
async function ignoredIn(folder: string, env: Surroundings['env'], signal: AbortSignal): Promise<readonly string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const limits = { timeLimitMs: 10_000, maxOutputBytes: 10_000_000 }
  const { end, stdout } = await runGit({ args, cwd: folder, env, ...limits }, signal)
  return end.kind === 'exited' && end.code === 0 ? stdout.text.split('\0').filter((path) => path !== '') : []
}

/** Other Markdown has front matter too: YAML counts only if at least one key is a key of prompt files. */
function isPrompt(file: string): boolean {
  const text = readRegularFile(file).toString('utf8')
  if (text.includes('!meta') && hasMetaFence(file, text)) return true
  const [first = '', ...lines] = text.replace(/^\uFEFF?(?:#!\/[^\n]*\n)?(?:\s+|<!--[^]*?-->)*/, '').split(/\r?\n/)
  if (first.trimEnd() === '+++') return true
  if (first.trimEnd() !== '---') return false
  const end = lines.findIndex((line) => line.trimEnd() === '---')
  const keys = lines.slice(0, end === -1 ? lines.length : end).flatMap((line) => /^(\w+)\s*:/.exec(line)?.[1] ?? [])
  return keys.some((key) => isReserved(key) && !['name', 'description'].includes(key))
}

/** A fence inside of another one is an example, not front matter. */
function hasMetaFence(file: string, text: string): boolean {
  try {
    return findLayout({ file, text, lines: linesOf(text) }).fences.length > 0
  } catch (error) {
    if (isBatonError(error)) return false
    throw error
  }
}
