import { commandEnvironment } from './command.ts'
import { type ProcessResult, runProcess } from './process.ts'

export interface GitCommand {
  readonly args: readonly string[]
  /** Absolute; relative paths in `args` start here. */
  readonly cwd: string
  /** Environment of the run; git gets only a fixed list of its variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeLimitMs: number
  /** Bytes kept of each of stdout and stderr. */
  readonly maxOutputBytes: number
  /** Allowed transports to other repositories, such as `https`; default: none. */
  readonly transports?: readonly string[]
  /** More settings; they override those of all config files. */
  readonly settings?: GitSettings
  /** Runs the hooks, filters and other programs that the repository configures, as when its user runs the command. */
  readonly asUser?: true
  /** More environment variables, such as a password for a credential helper: arguments are visible to other users. */
  readonly variables?: Readonly<Record<string, string>>
  /** Absolute path of the index to use instead of the repository's own. */
  readonly indexFile?: string
}

type GitSettings = readonly (readonly [name: string, value: string])[]

/** Disables configurable programs that git would start automatically. */
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
 * Runs git to its end, without a shell, stdin or prompts. It starts no hook, file watcher, pager, editor or ssh command
 * from the repository's config, and connects to other repositories only by `transports`, not even to fetch missing
 * objects of an incomplete clone. Programs that change or compare contents (filters, `diff.external`) must be handled
 * by the caller, see `repositoryFilters`. Settings of the user's own config stay in force. Results and errors are those
 * of `runProcess`.
 */
export function runGit(command: GitCommand, signal: AbortSignal): Promise<ProcessResult> {
  const {
    args,
    cwd,
    env,
    timeLimitMs,
    maxOutputBytes,
    transports = [],
    settings = [],
    asUser,
    indexFile,
    variables,
  } = command
  const given = [...(asUser ? [] : careful), ...settings].flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const environment = {
    ...commandEnvironment(env),
    ...(asUser && authors(env)),
    ...quiet,
    ...variables,
    ...(indexFile !== undefined && { GIT_INDEX_FILE: indexFile }),
    // takes precedence over all `protocol.*` settings, also for transports that are programs, such as `ext::`
    GIT_ALLOW_PROTOCOL: transports.length === 0 ? 'none' : transports.join(':'),
  }
  const all = ['--no-pager', '--literal-pathspecs', ...given, ...args]
  return runProcess({ command: 'git', args: all, cwd, environment, timeLimitMs, maxOutputBytes }, signal)
}

/** Author and committer of commits, if set in the environment. */
function authors(env: GitCommand['env']): Readonly<Record<string, string>> {
  const given = Object.entries(env).filter(([name]) => /^GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)$/.test(name))
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

/** No prompts, on a terminal or in a window, and no programs from config for them. */
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

/** Whether git failed to start or did not exit with 0. */
export function gitFailed({ end }: ProcessResult): boolean {
  return end.kind !== 'exited' || end.code !== 0
}

/** Why git failed, in its own words if it printed any. */
export function gitFailure({ end, stdout, stderr }: ProcessResult): string {
  switch (end.kind) {
    case 'not_started':
      return `git cannot be run: ${end.reason}`
    case 'timed_out':
      return 'git and its hooks took too long and were stopped'
    case 'killed':
      return `git was killed by ${end.signal}`
    case 'exited':
      return (
        [stderr.text, stdout.text].map((text) => text.trim()).find((text) => text !== '') ??
        `git exited with code ${end.code}`
      )
  }
}

export interface RepositoryFilters {
  /** Names of the filters that the repository's own config defines and the user's does not. */
  readonly names: readonly string[]
  /** Settings that turn them off. */
  readonly settings: GitSettings
}

/**
 * The filters (`filter.NAME.clean`, `smudge`, `process`) of a repository's own config. A program that the user's own
 * config defines identically counts as the user's. Undefined if git cannot list them, or if one of them cannot be
 * turned off.
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
