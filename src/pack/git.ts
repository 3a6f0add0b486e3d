import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeUri } from '../base/decode-uri.ts'
import { BatonError } from '../base/error.ts'
import { packLimits } from './pack-files.ts'
import { withoutSecrets } from './source.ts'

export interface GitSource {
  readonly url: string
  readonly ref?: string
  /** The commit in a lock; it takes precedence over `ref`. */
  readonly commit?: string
}

export interface FetchContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/** Settings of the repository must not affect how its files are written, nor templates of this machine the clone. */
const settings = [
  ['core.symlinks', 'true'],
  ['core.autocrlf', 'false'],
  ['core.eol', 'lf'],
  ['fetch.recurseSubmodules', 'false'],
  ['init.templateDir', ''],
  // a pack is what is in the repository, not what a server of its choice adds
  ['filter.lfs.smudge', ''],
  ['filter.lfs.process', ''],
  ['filter.lfs.required', 'false'],
] as const

/** A URL from the network must not lead to the disk or to a program. */
const transports = ['https', 'http', 'ssh', 'git']

/**
 * Fetches one commit of a repository into an empty folder with git, and returns its id. Without a ref, this is the head
 * of the default branch.
 * @throws BatonError FILE_FAILED if git fails, LIMIT, NOT_AVAILABLE without git; the reason of the signal
 */
export async function fetchRepository(source: GitSource, folder: string, context: FetchContext): Promise<string> {
  const run = async (...args: readonly string[]): Promise<void> => {
    const { isDone, text } = await tryGit(args, { source, folder }, context)
    if (!isDone) throw failed(source, text)
  }
  const wanted = source.commit ?? source.ref ?? 'HEAD'
  await run('init', '--quiet', '.')
  // after --, nothing that others wrote can be an option
  const shallow = ['fetch', '--quiet', '--depth', '1', '--no-tags', '--', source.url, wanted]
  const { isDone, text } = await tryGit(shallow, { source, folder }, context)
  if (!isDone) {
    // not every server serves a commit by its id
    if (!/^[\da-f]{7,64}$/.test(wanted)) throw failed(source, text)
    await run('fetch', '--quiet', '--', source.url, '+refs/*:refs/baton/*')
  }
  await run('checkout', '--quiet', '--detach', isDone ? 'FETCH_HEAD' : wanted)
  return readFileSync(join(folder, '.git', 'HEAD'), 'utf8').trim()
}

async function tryGit(
  args: readonly string[],
  { source, folder }: { readonly source: GitSource; readonly folder: string },
  { env, signal }: FetchContext,
): Promise<{ readonly isDone: boolean; readonly text: string }> {
  const { runGit } = await import('../base/git.ts')
  const { url, helper, variables } = withoutPassword(source.url)
  const { end, stderr } = await runGit(
    {
      args: args.map((arg) => (arg === source.url ? url : arg)),
      cwd: folder,
      env,
      settings: [...settings, ...helper],
      variables,
      transports: source.url.startsWith('file:') ? [...transports, 'file'] : transports,
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

interface WithoutPassword {
  readonly url: string
  readonly helper: readonly (readonly [string, string])[]
  readonly variables: Readonly<Record<string, string>>
}

/**
 * Everyone on the machine can read the arguments of a process, but not its environment: a password is given to git by
 * a credential helper, which reads it from there. Helpers of the user are not asked, so none of them stores it.
 */
function withoutPassword(url: string): WithoutPassword {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isHttp = /^https?:$/.test(parsed?.protocol ?? '')
  if (parsed === undefined || (parsed.password === '' && !(isHttp && parsed.username !== ''))) {
    return { url, helper: [], variables: {} }
  }
  const [username, password] = [decodeUri(parsed.username), decodeUri(parsed.password)]
  parsed.password = ''
  // ssh takes no password from a URL
  if (!isHttp) return { url: parsed.href, helper: [], variables: {} }
  // the name may be a token
  parsed.username = ''
  const answer = String.raw`test "$1" = get && printf 'username=%s\npassword=%s\n' "$BATON_GIT_USER" "$BATON_GIT_PASSWORD"`
  return {
    url: parsed.href,
    helper: [
      ['credential.helper', ''],
      [`credential.${parsed.origin}.helper`, `!f() { ${answer}; }; f`],
    ],
    variables: { BATON_GIT_USER: username, BATON_GIT_PASSWORD: password },
  }
}

function failed({ url, ref, commit }: GitSource, text: string): BatonError {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const said = withoutSecrets(lines.find((line) => /^(?:fatal|error|remote):/.test(line)) ?? lines[0] ?? '')
  const wanted = commit ?? ref
  const what = withoutSecrets(url) + (wanted === undefined ? '' : ` at ${wanted}`)
  return new BatonError('FILE_FAILED', `git cannot fetch ${what}: ${said.slice(0, 300)}`, {
    hint: 'Check the address, the branch or tag, and that you may read it without a password prompt.',
  })
}
