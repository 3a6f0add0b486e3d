import { commandEnvironment } from './command.ts'
import { type ProcessResult, runProcess } from './process.ts'

export interface GitCommand {
  readonly args: readonly string[]
  /** Absolute; a relative path in `args` counts from it. */
  readonly cwd: string
  /** Of the run; git gets a fixed list of it. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeLimitMs: number
  /** Bytes kept of each of the two streams. */
  readonly maxOutputBytes: number
  /** Ways to other repositories that may be used, such as `https`; none when left out. */
  readonly transports?: readonly string[]
  /** More settings; they win over those of all config files. */
  readonly settings?: GitSettings
  /** Hooks, filters and other programs that the repository names are run, as when its user types the command. */
  readonly asUser?: true
  /** Absolute path of the index to use in place of the repository's own. */
  readonly indexFile?: string
}

type GitSettings = readonly (readonly [name: string, value: string])[]

/** Of what config can name, what git would start by itself. */
const careful: GitSettings = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', ''],
  ['core.gitProxy', ''],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
]

/**
 * Runs git to its end, without a shell, input or questions. Of what the config of a repository names it starts no hooks, no
 * file watcher, no pager, editor or ssh command, and it connects to nothing but by `transports`; not even to fetch what
 * an incomplete clone lacks. Programs that change or compare contents (filters, `diff.external`) must be handled by the
 * caller, see `repositoryFilters`. Settings of the user's own config stay in force. Ends and errors as of `runProcess`.
 */
export function runGit(command: GitCommand, signal: AbortSignal): Promise<ProcessResult> {
  const { args, cwd, env, timeLimitMs, maxOutputBytes, transports = [], settings = [], asUser, indexFile } = command
  const given = [...(asUser ? [] : careful), ...settings].flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const environment = {
    ...commandEnvironment(env),
    ...(asUser && authors(env)),
    ...quiet,
    ...(indexFile !== undefined && { GIT_INDEX_FILE: indexFile }),
    // wins over all `protocol.*` settings, also for transports that are programs, such as `ext::`
    GIT_ALLOW_PROTOCOL: transports.length === 0 ? 'none' : transports.join(':'),
  }
  const all = ['--no-pager', '--literal-pathspecs', ...given, ...args]
  return runProcess({ command: 'git', args: all, cwd, environment, timeLimitMs, maxOutputBytes }, signal)
}

/** Whom commits are by, where the environment says it. */
function authors(env: GitCommand['env']): Readonly<Record<string, string>> {
  const given = Object.entries(env).filter(([name]) => /^GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)$/.test(name))
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

/** No questions, on a terminal or in a window, and no programs that config names for them. */
const quiet = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  GCM_INTERACTIVE: 'never',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_NO_LAZY_FETCH: '1',
  LC_ALL: 'C',
} as const

/** Whether git did not end with 0. */
export function gitFailed({ end }: ProcessResult): boolean {
  return end.kind !== 'exited' || end.code !== 0
}

/** Why git failed, in its own words where it has said something. */
export function gitFailure({ end, stdout, stderr }: ProcessResult): string {
  switch (end.kind) {
    case 'not_started':
      return `git cannot be run: ${end.reason}`
    case 'timed_out':
      return 'git and its hooks took too long and were stopped'
    case 'killed':
      return `git was ended by ${end.signal}`
    case 'exited':
      return (
        [stderr.text, stdout.text].map((text) => text.trim()).find((text) => text !== '') ??
        `git ended with ${end.code}`
      )
  }
}

export interface RepositoryFilters {
  /** The filters by name that the repository's own config defines and the user's does not. */
  readonly names: readonly string[]
  /** Turn them off. */
  readonly settings: GitSettings
}

/**
 * The filters (`filter.NAME.clean`, `smudge`, `process`) of a repository's own config. A program that the user's own config
 * names in the same words is the user's. Undefined when git cannot list them, or one of them cannot be turned off.
 */
export async function repositoryFilters(
  place: Omit<GitCommand, 'args' | 'settings'>,
  signal: AbortSignal,
): Promise<RepositoryFilters | undefined> {
  const args = ['config', '--list', '--show-scope', '-z']
  const { end, stdout } = await runGit({ ...place, args }, signal)
  if (end.kind !== 'exited' || end.code !== 0 || stdout.lost > 0) return undefined
  const all = entriesOf(stdout.text)
  const own = new Set(all.filter(({ isOwn }) => isOwn).map(({ setting }) => setting))
  const names = [
    ...new Set(
      all.flatMap(({ isOwn, setting }) => {
        const [, name] = /^filter\.(.*)\.(?:clean|smudge|process)\n/s.exec(setting) ?? []
        return isOwn || own.has(setting) || name === undefined ? [] : [name]
      }),
    ),
  ]
  // `-c` ends a name at its first =
  if (names.some((name) => /[=\n]/.test(name))) return undefined
  return { names, settings: names.flatMap(turnedOff) }
}

function turnedOff(name: string): GitSettings {
  return [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.smudge`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ]
}

/** `setting` is the name, a line break and the value. */
function entriesOf(list: string): readonly { readonly isOwn: boolean; readonly setting: string }[] {
  const parts = list.split('\0')
  return parts.flatMap((scope, index) =>
    index % 2 === 0 && index + 1 < parts.length
      ? [{ isOwn: scope === 'global' || scope === 'system' || scope === 'command', setting: parts[index + 1] ?? '' }]
      : [],
  )
}
