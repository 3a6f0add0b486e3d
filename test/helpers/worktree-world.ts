import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RunContext } from '../../src/event/context.ts'
import { saveFile } from '../../src/tool/workspace-files.ts'
import { item } from '../../src/event/place.ts'
import { testContext, type TestContext, type TestContextOptions } from './context.ts'
import { makeRepository } from './git-world.ts'
import { tempTree, writeTree } from './temp.ts'

type Files = { readonly [path: string]: string | Uint8Array }

/** A real repository, and a folder in which a run may create work trees. */
export interface WorktreeWorld {
  /** The top of the repository. */
  readonly top: string
  /** Where work trees are created. */
  readonly folder: string
  readonly home: string
  readonly git: (...args: readonly string[]) => string
  readonly write: (files: Files) => void
  readonly remove: (path: string) => void
  readonly read: (path: string) => string
  readonly has: (path: string) => boolean
  /** A context whose workspace is the repository, or a folder in it. */
  readonly context: (below?: string) => TestContext
  readonly given: (below?: string) => TestContextOptions & { readonly workspace: string }
  /** The work trees that git knows about, without the repository itself. */
  readonly known: () => readonly string[]
}

/** `files`: the first commit; undefined: there is none. */
export function worktreeWorld(files: Files | undefined = {}): WorktreeWorld {
  const root = tempTree({
    'home/.gitconfig':
      '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    'work/.keep': '',
  })
  const [top, home, folder] = ['work', 'home', 'state/run/worktrees'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  writeTree(top, files)
  const git = makeRepository(top, home)
  function given(below = ''): TestContextOptions & { readonly workspace: string } {
    const workspace = join(top, below)
    const folders = { workspace, cwd: workspace, packRoots: [], worktrees: folder, ownFolders: [join(root, 'state')] }
    return { workspace, scope: { folders }, services: { env: { ...process.env, HOME: home } } }
  }

  return {
    top,
    folder,
    home,
    git,
    write: (more) => writeTree(top, more),
    remove: (path) => rmSync(join(top, path), { recursive: true }),
    read: (path) => readFileSync(join(top, path), 'utf8'),
    has: (path) => existsSync(join(top, path)),
    context: (below) => testContext(given(below)),
    given,
    known: () =>
      git('worktree', 'list', '--porcelain')
        .split('\n')
        .filter((line) => line.startsWith('worktree ') && line !== `worktree ${top}`),
  }
}

/** Writes files in the workspace of a context, as tools do: each as one file effect. */
export function writeIn(context: RunContext, files: { readonly [path: string]: string }): void {
  for (const [path, content] of Object.entries(files)) {
    const at = [...context.scope.at, item('write'), item(path)]
    saveFile(join(context.scope.folders.workspace, path), content, { context, at })
  }
}

/** Runs a program in the workspace of a context without recording it. */
export function shellIn({ scope }: RunContext, line: string): void {
  execFileSync('sh', ['-c', line], { cwd: scope.folders.workspace, stdio: 'ignore' })
}
