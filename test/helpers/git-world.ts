import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { baton, type BatonOptions, type BatonResult, jsonLines } from './baton.ts'
import { type ModelScript, type ModelServer, startModelServer } from './model-server.ts'
import { tempTree, writeTree } from './temp.ts'

type Files = { readonly [path: string]: string }

/** A real repository below a separate folder, with a scripted model. */
export interface GitWorld {
  /** The top of the repository. */
  readonly top: string
  readonly home: string
  readonly server: ModelServer
  /** The output of git, without the last line break. */
  readonly git: (...args: readonly string[]) => string
  readonly write: (files: Files) => void
  readonly read: (path: string) => string
  readonly run: (args: readonly string[], options?: Partial<BatonOptions>) => Promise<BatonResult>
}

/** `files`: the first commit. */
export async function gitWorld(files: Files, script: ModelScript = []): Promise<GitWorld> {
  const folder = tempTree({
    'home/.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n',
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`work/${path}`, text])),
    'work/.keep': '',
  })
  const [top, home] = [join(folder, 'work'), join(folder, 'home')]
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const git = makeRepository(top, home)
  const env = { HOME: home, BATON_HOME: join(home, 'baton'), BATON_GATEWAY_URL: server.url }
  return {
    top,
    home,
    server,
    git,
    write: (more) => writeTree(top, more),
    read: (path) => readFileSync(join(top, path), 'utf8'),
    run: (args, options = {}) => baton(args, { cwd: top, ...options, env: { ...env, ...options.env } }),
  }
}

/** Runs git in a folder, with only the settings of this home. */
export function gitIn(cwd: string, home: string): GitWorld['git'] {
  return (...args) => runIn(cwd, home, ['git', ...args])
}

/**
 * Makes a folder a repository with one commit of all that is there, and gives its `gitIn`. By one shell: each start of a
 * program takes the longer, the larger the process is that starts it.
 */
export function makeRepository(cwd: string, home: string): GitWorld['git'] {
  runIn(cwd, home, ['sh', '-c', 'git init -q && git add -A && git commit -q -m base'])
  return gitIn(cwd, home)
}

function runIn(cwd: string, home: string, [program = '', ...args]: readonly string[]): string {
  const env = { PATH: process.env['PATH'], HOME: home, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1' }
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()
}

/** A prompt file with iterations; `iterate`: lines of its table, `front`: lines above it. */
export function iteratedPrompt(iterate: string, { front = '', task = 'Improve it.' } = {}): string {
  return `+++
model = "coder"
write_mode = true
budget.unpriced = "allow"
${front}
[iterate]
${iterate}
+++
${task}
`
}

/** An answer that writes these files. */
export function writing(files: Files, text = 'Done.'): string {
  const parts = Object.entries(files).map(
    ([path, content]) => `<FILE_NEW file_path="${path}">\n${content}\n</FILE_NEW>\n`,
  )
  return `${text}\n\n<FILE_CHANGES>\n${parts.join('')}</FILE_CHANGES>\n`
}

/** Subjects of all commits, oldest first. */
export function subjects({ git }: Pick<GitWorld, 'git'>, ...args: readonly string[]): readonly string[] {
  return git('log', '--reverse', '--format=%s', ...args).split('\n')
}

/** Names of the files that a commit changes, in git's order. */
export function filesOf({ git }: Pick<GitWorld, 'git'>, commit: string): readonly string[] {
  const list = git('diff-tree', '--root', '-r', '-M', '--no-commit-id', '--name-only', '-z', commit)
  return list.split('\0').filter((path) => path !== '')
}

/** Events of a type that a run with --json printed. */
export function eventsOf({ stdout }: BatonResult, type: string): readonly Record<string, unknown>[] {
  return jsonLines(stdout).filter((event) => event['type'] === type)
}

/** Installs a git hook. */
export function writeHook({ top }: Pick<GitWorld, 'top'>, name: string, script: string): void {
  writeFileSync(join(top, '.git/hooks', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}
