import { existsSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import { BatonError } from '../../base/error.ts'
import { runProcess } from '../../base/process.ts'
import { findProgram } from '../../base/program.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'
import { bwrapArguments } from './bwrap.ts'
import { boxFolders } from './plan.ts'

/** What can create sandboxes on this machine. */
export type Boxer =
  | { readonly kind: 'bwrap' | 'sandbox-exec'; readonly program: string }
  /** What is missing, and how to get it. */
  | { readonly kind: 'none'; readonly problem: string; readonly hint: string }

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Programs in it are not trusted. */
  readonly workspace: string
  readonly platform?: NodeJS.Platform
}

const probes = new Map<string, Promise<Boxer>>()

/** What creates sandboxes here; tried once per process. */
export function findBoxer({ env, workspace, platform = process.platform }: Machine): Promise<Boxer> {
  const name = ({ linux: 'bwrap', darwin: 'sandbox-exec' } as Readonly<Record<string, string>>)[platform]
  if (name === undefined) {
    return Promise.resolve({ kind: 'none', problem: `there is no sandbox on ${platform}`, hint: anyway })
  }
  const program = findProgram(name, env, workspace)
  const key = `${platform} ${program ?? ''}`
  const found = probes.get(key) ?? probe(program, platform)
  probes.set(key, found)
  return found
}

async function probe(program: string | undefined, platform: NodeJS.Platform): Promise<Boxer> {
  if (program === undefined) {
    const problem = platform === 'darwin' ? 'sandbox-exec not found' : 'bwrap not found'
    return { kind: 'none', problem, hint: platform === 'darwin' ? anyway : `${install} ${anyway}` }
  }
  const [kind, args] =
    platform === 'darwin' ? (['sandbox-exec', profileTrial] as const) : (['bwrap', boxTrial()] as const)
  const { end, stderr } = await runProcess(
    { command: program, args, cwd: '/', environment: {}, timeLimitMs: 10_000, maxOutputBytes: 4_000 },
    new AbortController().signal,
  )
  if (end.kind === 'exited' && end.code === 0) return { kind, program }
  const said =
    stderr.text
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^bwrap: /, '') ?? ''
  const why = end.kind === 'not_started' ? end.reason : end.kind === 'timed_out' ? 'it did not exit' : said
  return {
    kind: 'none',
    problem: `${program} cannot create a sandbox${why === '' ? '' : `: ${why}`}`,
    hint: `${platform === 'darwin' ? '' : `${cure(why)} `}${anyway}`,
  }
}

const profileTrial = ['-p', '(version 1)(allow default)', '/usr/bin/true']

function boxTrial(): readonly string[] {
  const command = { command: 'true', args: [], cwd: '/', environment: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
  return bwrapArguments(command, {
    ...boxFolders(),
    workspace: '/',
    canWrite: false,
    kept: [],
    hiddenFiles: [],
    hiddenFolders: [],
    shown: [],
    opened: [],
    tmpMb: 16,
    fileMb: 16,
    given: {},
  })
}

const install = 'Install bubblewrap 0.8 or later: apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap.'
const anyway = 'Without a sandbox, models can run programs only with [sandbox] mode = "danger-full-access".'

/** How to fix a failure, based on its message and the state of the machine. */
function cure(said: string): string {
  if (/unknown option/i.test(said)) return `It is too old. ${install}`
  if (settingOf('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'AppArmor denies it user namespaces: install its profile (apt install apparmor-profiles, then ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and systemctl reload apparmor).'
  }
  if (settingOf('/proc/sys/kernel/unprivileged_userns_clone') === '0') {
    return 'User namespaces are disabled: run sysctl kernel.unprivileged_userns_clone=1.'
  }
  if (settingOf('/proc/sys/user/max_user_namespaces') === '0') {
    return 'User namespaces are disabled: run sysctl user.max_user_namespaces=10000.'
  }
  if (existsSync('/.dockerenv') || existsSync('/run/.containerenv')) {
    return 'This container is not allowed to create namespaces: start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined.'
  }
  return 'It needs user namespaces, which this system denies.'
}

function settingOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Whether the kernel counts the processes of a sandbox separately from the user's other processes. */
export function countsTasksApart(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 14)
}

/**
 * Why models cannot run programs with these rights on this machine; undefined if they can. Checked before any paid
 * call.
 */
export async function sandboxProblem(
  { mode }: Pick<SandboxRights, 'mode'>,
  machine: Machine,
): Promise<BatonError | undefined> {
  if (mode === 'danger-full-access') return undefined
  const boxer = await findBoxer(machine)
  return boxer.kind === 'none' ? noSandbox(boxer, { mode }) : undefined
}

export function noSandbox(
  { problem, hint }: Extract<Boxer, { readonly kind: 'none' }>,
  { mode }: Pick<SandboxRights, 'mode'>,
): BatonError {
  return new BatonError('SANDBOX', `there is no sandbox for "${mode}": ${problem}`, { hint })
}
