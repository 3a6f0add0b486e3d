import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { commandEnvironment } from '../base/process-environment.ts'
import { packLimits } from './pack-limits.ts'
import { withoutSecrets } from './without-secrets.ts'

export interface GitSource {
  readonly url: string
  readonly ref?: string
  /** The one that a lock names; it wins over `ref`. */
  readonly commit?: string
}

export interface GitContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/** Nothing of the repository is run while it is fetched: no hooks, no filters, no submodules, nobody is asked. */
const careful: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.symlinks', 'true'],
  ['core.autocrlf', 'false'],
  ['core.eol', 'lf'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  // what comes over the network must not lead to the disk or to a program
  ['protocol.allow', 'never'],
  ['protocol.https.allow', 'always'],
  ['protocol.http.allow', 'always'],
  ['protocol.ssh.allow', 'always'],
  ['protocol.git.allow', 'always'],
  ['init.templateDir', ''],
]

/**
 * Fetches one commit of a repository into an empty folder, with git, and gives its id. Without a ref it is the default
 * branch.
 * @throws BatonError FILE_FAILED when git fails, LIMIT, NOT_AVAILABLE without git; the reason of the signal
 */
export async function fetchRepository(source: GitSource, folder: string, context: GitContext): Promise<string> {
  const run = (args: readonly string[]): Promise<GitEnd> => runGit(args, { source, folder }, context)
  // options end before what others have written
  await mustRun(run, ['init', '--quiet', '.'], source)
  const wanted = source.commit ?? source.ref ?? 'HEAD'
  const shallow = await run(['fetch', '--quiet', '--depth', '1', '--no-tags', '--', source.url, wanted])
  if (!shallow.isDone) {
    // not every server gives a commit by its id
    if (!/^[\da-f]{7,64}$/.test(wanted)) throw failed(source, shallow.text)
    await mustRun(run, ['fetch', '--quiet', '--', source.url, '+refs/*:refs/baton/*'], source)
  }
  await mustRun(run, ['checkout', '--quiet', '--detach', shallow.isDone ? 'FETCH_HEAD' : wanted], source)
  return readFileSync(join(folder, '.git', 'HEAD'), 'utf8').trim()
}

interface GitEnd {
  readonly isDone: boolean
  readonly text: string
}

async function mustRun(
  run: (args: readonly string[]) => Promise<GitEnd>,
  args: readonly string[],
  source: GitSource,
): Promise<void> {
  const { isDone, text } = await run(args)
  if (!isDone) throw failed(source, text)
}

async function runGit(
  args: readonly string[],
  { source, folder }: { readonly source: GitSource; readonly folder: string },
  { env, signal }: GitContext,
): Promise<GitEnd> {
  const { runProcess } = await import('../base/process.ts')
  const settings = [...careful, ...(isLocal(source.url) ? ([['protocol.file.allow', 'always']] as const) : [])]
  const { end, stderr } = await runProcess(
    {
      command: 'git',
      args: [...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]), ...args],
      cwd: folder,
      environment: { ...commandEnvironment(env), ...quiet },
      timeLimitMs: packLimits.cloneMs,
      maxOutputBytes: 64 * 1024,
    },
    signal,
  )
  switch (end.kind) {
    case 'exited':
      return { isDone: end.code === 0, text: stderr.text }
    case 'killed':
      return { isDone: false, text: `git was stopped by ${end.signal}` }
    case 'timed_out':
      throw new BatonError('LIMIT', `git took longer than ${packLimits.cloneMs / 60_000} minutes`, {
        hint: 'Clone it yourself, and install the folder.',
      })
    case 'not_started':
      throw new BatonError('NOT_AVAILABLE', `git cannot be run: ${end.reason}`, { hint: 'Install git.' })
  }
}

/** No terminal and no window asks anybody. */
const quiet = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  GCM_INTERACTIVE: 'never',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
  GIT_LFS_SKIP_SMUDGE: '1',
  LC_ALL: 'C',
} as const

function isLocal(url: string): boolean {
  return url.startsWith('file:')
}

function failed({ url, ref, commit }: GitSource, text: string): BatonError {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const said = (lines.find((line) => /^(?:fatal|error|remote):/.test(line)) ?? lines[0] ?? '').slice(0, 300)
  const wanted = commit ?? ref
  const what = withoutSecrets(url) + (wanted === undefined ? '' : ` at ${wanted}`)
  return new BatonError('FILE_FAILED', `git cannot fetch ${what}: ${withoutSecrets(said)}`, {
    hint: 'Check the address, the branch or tag, and that you may read it without being asked.',
  })
}
