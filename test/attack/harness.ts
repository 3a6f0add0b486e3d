import { spawn } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { root, runShared } from '../helpers/baton.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'
import type { CommandEnd } from '../helpers/warm-command.ts'
import { isWhole } from './attempts.ts'

const command = join(root, 'dist/bin/baton.js')
/** How long a command may take before it counts as hung: far more than any needs on a loaded machine. */
const usualPatienceMs = 45_000

/** Files by their path below a folder. */
export type Files = Readonly<Record<string, string | Uint8Array>>

export interface WorldOptions {
  /** The workspace, in which the command is started. */
  readonly work?: Files
  /** `HOME`. */
  readonly home?: Files
  /** A folder next to the workspace that nothing may change. */
  readonly outside?: Files
  readonly env?: Readonly<Record<string, string>>
}

interface AttackOptions {
  /** Undefined: the variable is not set. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The content of standard input; if omitted, it is closed. */
  readonly input?: string | Uint8Array
  /** Below the workspace. */
  readonly cwd?: string
  /** Run instead of the built command, for shells and other programs; `args` are its arguments. */
  readonly program?: string
  /** SIGINT is sent a moment after this becomes true, while the work, which must not end on its own, is in progress. */
  readonly interruptWhen?: () => boolean
  /** SIGINT is sent as soon as this is true, and again a moment later. */
  readonly interruptTwiceWhen?: () => boolean
  /** When the command counts as hung and is killed; default: 45 seconds. */
  readonly patienceMs?: number
}

export interface AttackEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** It was killed by the harness, because it did not end. */
  readonly isHung: boolean
}

/** A separate machine for one attempt: folders, a home, a state folder, and a marker that hostile code would create. */
export interface World {
  /** Contains all the others. */
  readonly folder: string
  readonly work: string
  readonly home: string
  /** `BATON_HOME`, which only the command writes. */
  readonly state: string
  readonly outside: string
  /** If it exists, foreign code ran. Created by `mark`, by a shell command, or by anything that writes there. */
  readonly marker: string
  readonly mark: string
  readonly run: (args: readonly string[], options?: AttackOptions) => Promise<AttackEnd>
  /** Whether a run of this world has started: from then on it handles signals. */
  readonly hasBegun: () => boolean
  /** What has changed since the world was created in the home folder, outside, and next to the workspace. */
  readonly changes: () => readonly string[]
}

/** `{{marker}}`, `{{outside}}`, `{{home}}` and `{{work}}` in files and names stand for the paths of this world. */
export function createWorld({ work = {}, home = {}, outside = {}, env = {} }: WorldOptions = {}): World {
  const folder = tempTree()
  const paths = {
    work: join(folder, 'work'),
    home: join(folder, 'home'),
    outside: join(folder, 'outside'),
    marker: join(folder, 'outside', 'marker-of-foreign-code'),
  }
  const state = join(folder, 'state')
  const filled = (text: string): string =>
    text.replace(/\{\{(work|home|outside|marker)\}\}/g, (_, name: keyof typeof paths) => paths[name])
  const within = (name: string, files: Files): Files =>
    Object.fromEntries(
      Object.entries({ '.keep': '', ...files }).map(([path, content]) => [
        `${name}/${filled(path)}`,
        typeof content === 'string' ? filled(content) : content,
      ]),
    )
  writeTree(folder, { ...within('work', work), ...within('home', home), ...within('outside', outside) })
  const before = states(folder)
  const base = {
    PATH: process.env['PATH'] ?? '',
    TMPDIR: tmpdir(),
    HOME: paths.home,
    BATON_HOME: state,
    NO_COLOR: '1',
    BATON_LOCAL_SERVERS: 'off',
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/baton'),
    ...env,
  }
  return {
    ...paths,
    folder,
    state,
    mark: `touch '${paths.marker}'`,
    run: (args, options = {}) => execute(args, { ...options, env: { ...base, ...options.env }, work: paths.work }),
    hasBegun: () => filesBelow(join(state, 'state/runs')).some((path) => path.endsWith('j-000001.jsonl')),
    changes: () => differences(before, states(folder)),
  }
}

/**
 * What must be true after every attempt: the command ended on its own with a code of docs/output-and-exit-codes.md, or
 * one of `codes` if given; no foreign code ran; nothing outside the workspace and the state folder changed; and a
 * failure was reported in words, not as a stack trace.
 */
export function expectHeld(world: World, end: AttackEnd, codes?: readonly number[]): void {
  const told = `${end.stderr.slice(-2000)}\n${end.stdout.slice(-2000)}`
  expect({ isHung: end.isHung, signal: end.signal }, told).toEqual({ isHung: false, signal: null })
  expect(codes ?? [0, 1, 2, 3, 4, 5, 6, 7, 100, 130, 143], told).toContain(end.code)
  expect(existsSync(world.marker), `foreign code ran\n${told}`).toBe(false)
  expect(world.changes(), told).toEqual([])
  expect(end.stderr).not.toMatch(/^ {4}at .+:\d+:\d+\)?$|internal error|RangeError|TypeError/m)
}

type Execution = AttackOptions & { readonly work: string; readonly env: Readonly<Record<string, string | undefined>> }

/** `npm test` runs plain commands in the process shared with earlier runs; the whole suite does not. */
function execute(args: readonly string[], options: Execution): Promise<AttackEnd> {
  const { env, work, cwd, input, program, interruptWhen, interruptTwiceWhen, patienceMs } = options
  const isPlain = [input, program, interruptWhen, interruptTwiceWhen, patienceMs].every(
    (option) => option === undefined,
  )
  const shared =
    isPlain && !isWhole ? runShared({ args, cwd: cwd === undefined ? work : join(work, cwd), env }) : undefined
  return shared === undefined ? executeAlone(args, options) : patiently(shared)
}

/** A process that hangs ends with the test file, which then fails. */
async function patiently(shared: Promise<CommandEnd>): Promise<AttackEnd> {
  let timer: NodeJS.Timeout | undefined
  const hung = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), usualPatienceMs)))
  const end = await Promise.race([shared, hung])
  clearTimeout(timer)
  return { ...(end ?? { code: null, stdout: '', stderr: '' }), signal: null, isHung: end === undefined }
}

function executeAlone(
  args: readonly string[],
  { env, work, input, cwd, program, interruptWhen, interruptTwiceWhen, patienceMs = usualPatienceMs }: Execution,
): Promise<AttackEnd> {
  const [file, ...rest] = program === undefined ? [process.execPath, command, ...args] : [program, ...args]
  const options = { cwd: cwd === undefined ? work : join(work, cwd), env, detached: true } as const
  const child = spawn(file ?? '', rest, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined).end(input)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  let isHung = false
  const kill = (signal: NodeJS.Signals): void => {
    // its group, so that the processes it has started are gone too
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  }
  const patience = setTimeout(() => {
    isHung = true
    kill('SIGKILL')
  }, patienceMs)
  let interrupt: NodeJS.Timeout | undefined
  const watch = setInterval(() => {
    if (interruptWhen?.() === true) interrupt = setTimeout(() => child.kill('SIGINT'), isWhole ? 1000 : 300)
    else if (interruptTwiceWhen?.() === true) {
      child.kill('SIGINT')
      interrupt = setTimeout(() => child.kill('SIGINT'), 100)
    } else return
    clearInterval(watch)
  }, 20)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(patience)
      clearInterval(watch)
      clearTimeout(interrupt)
      // a process that is already exiting does not handle the second signal and dies of it like any program: 130 in a
      // shell
      const isLate = signal === 'SIGINT' && interruptTwiceWhen !== undefined
      resolve({ code: isLate ? 130 : code, signal: isLate ? null : signal, stdout, stderr, isHung })
    })
  })
}

function filesBelow(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
}

/**
 * Each file, link and folder below a folder, except the workspace and the state folder, with what distinguishes its
 * states.
 */
function states(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const visit = (path: string): void => {
    for (const name of readdirSync(path)) {
      const entry = join(path, name)
      const shown = entry.slice(folder.length + 1)
      if (shown === 'work' || shown === 'state') continue
      const stat = lstatSync(entry)
      const mode = (stat.mode & 0o777).toString(8)
      if (stat.isSymbolicLink()) found.set(shown, `link to ${readlinkSync(entry)}`)
      else if (stat.isDirectory()) {
        found.set(shown, `folder ${mode}`)
        visit(entry)
      } else found.set(shown, stat.isFile() ? `${mode} ${readFileSync(entry, 'latin1')}` : 'no file')
    }
  }
  visit(folder)
  return found
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path) => `${path} is gone`)
  const other = [...after].flatMap(([path, state]) => {
    const was = before.get(path)
    if (was === state) return []
    return [was === undefined ? `${path} is new` : `${path} changed`]
  })
  return [...gone, ...other]
}
