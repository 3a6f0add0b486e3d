import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inputOf, root, runShared } from '../baton.ts'
import type { WarmCommand } from '../warm-command.ts'
import type { World } from './scenario.ts'

export const command = join(root, 'dist/bin/baton.js')
const preload = join(import.meta.dirname, 'kill-at.mjs')

/** What goes wrong while the command runs; kill-at.mjs documents each `when`. */
export interface Disturbance {
  /** Only writes that contain this text count. */
  readonly match?: string
  /** Number of the file operation, from 1. */
  readonly at?: number
  readonly when?: 'before' | 'half' | 'after' | 'fail' | 'failing' | 'full' | 'short'
  readonly code?: string
  /** Killed this many operations after the one that failed. */
  readonly thenKill?: number
  /** The boot id it sees: that of a different machine. */
  readonly machine?: string
  /** Milliseconds the wall clock jumps by at each file operation, used one after another. */
  readonly shifts?: readonly number[]
  /**
   * `journal` (default): operations on the folder of runs. `state`: on all state. `workspace`: on the user's files.
   * `all`: on both and others.
   */
  readonly scope?: 'journal' | 'state' | 'workspace' | 'all'
  /** Files that are opened for reading count too. */
  readonly reads?: boolean
}

export interface PlayOptions {
  readonly world: World
  /** URL of the model. */
  readonly url: string
  readonly disturb?: Disturbance
  /**
   * Processes that run the command when it is undisturbed: starting one takes more than half of a run. Default: that of
   * end-to-end tests (warm-command.ts). They count no operations, which an empty `disturb` does.
   */
  readonly warm?: readonly WarmCommand[]
  /** A script of this folder that is run instead of the command. */
  readonly script?: string
  /** What a pipe gives it. */
  readonly input?: string
  /** A program that starts the command, with its arguments. */
  readonly through?: readonly string[]
  /** More variables of its environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Called when the process has started: to send signals. */
  readonly onStart?: (child: RunningCommand) => void
  /** Called with all stdout so far. */
  readonly onOutput?: (stdout: string, child: RunningCommand) => void
}

interface RunningCommand {
  /** Whether a signal has stopped all of its threads; undefined: it has ended. */
  readonly isStopped: () => boolean | undefined
  readonly kill: (signal: NodeJS.Signals) => void
  /** Nobody reads stdout anymore. */
  readonly hangUp: () => void
}

/** For `onOutput`: does something once, when stdout first contains a text. */
export function once(text: string, work: (child: RunningCommand) => void): NonNullable<PlayOptions['onOutput']> {
  let isDone = false
  return (stdout, child) => {
    if (isDone || !stdout.includes(text)) return
    isDone = true
    work(child)
  }
}

export interface Played {
  /** Null when it was killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Name and path, below the observed folder, of each file operation. */
  readonly operations: readonly (readonly [string, string])[]
  /** Bytes written to files of that folder, by inode. */
  readonly sizes: Readonly<Record<string, number>>
}

/** These processes are short: optimizing compilation and parallel garbage collection do not pay off. */
const lean = ['--no-warnings', '--liftoff-only', '--no-opt', '--single-threaded-gc']

/** Runs the built command in a world, disturbed if requested. */
export async function play(args: readonly string[], options: PlayOptions): Promise<Played> {
  const { world, url, disturb, through, script, input, onStart, onOutput, env: more, warm = [] } = options
  const cwd = world.workspace
  const env = {
    PATH: process.env['PATH'],
    TMPDIR: tmpdir(),
    HOME: world.home,
    BATON_HOME: world.home,
    BATON_LOCAL_SERVERS: 'off',
    BATON_GATEWAY_URL: url,
    BATON_GATEWAY_KEY: 'key-of-the-gateway',
    NO_COLOR: '1',
    ...more,
  }
  const isPlain = [disturb, through, script, onStart, onOutput].every((disturbance) => disturbance === undefined)
  const given = inputOf(args, input)
  if (isPlain && given !== 'own') {
    for (const run of warm.length > 0 ? warm.map((one) => one.run) : [runShared]) {
      const ended = run({ args, cwd, env, ...given })
      if (ended !== undefined) return { ...(await ended), operations: [], sizes: {} }
    }
  }
  return playAlone(args, options, env)
}

function playAlone(
  args: readonly string[],
  { world, disturb = {}, through = [], script, input, onStart, onOutput }: PlayOptions,
  env: NodeJS.ProcessEnv,
): Promise<Played> {
  const report = join(world.outside, `report-${randomUUID()}.json`)
  const { scope: what = 'journal', ...disturbance } = disturb
  const scope = {
    journal: join(world.home, 'state/runs'),
    state: join(world.home, 'state'),
    workspace: world.workspace,
    all: dirname(world.workspace),
  }[what]
  const file = script === undefined ? command : join(import.meta.dirname, script)
  const [program, ...rest] = [...through, process.execPath, ...lean, '--import', preload, file]
  const child = spawn(program, [...rest, ...args], {
    cwd: world.workspace,
    env: {
      ...env,
      // strace counts the calls of each thread separately
      ...(through.length > 0 && { UV_THREADPOOL_SIZE: '1' }),
      DISTURB: JSON.stringify({ ...disturbance, scope, report }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined).end(input)
  const running = {
    isStopped() {
      const states = threadStates(child.pid ?? 0).filter((state) => state !== 'Z')
      return states.length === 0 ? undefined : states.every((state) => state === 'T')
    },
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    hangUp: () => void child.stdout.destroy(),
  }
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    onOutput?.(stdout, running)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  onStart?.(running)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr, ...readReport(report) }))
  })
}

/** The states of the threads of a process, as one letter each (proc(5)); none if it has ended. */
function threadStates(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [, state = ''] = /\) (\S)/.exec(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')) ?? []
      return state
    })
  } catch {
    return []
  }
}

/** A process that is killed from outside writes no report. */
function readReport(file: string): Pick<Played, 'operations' | 'sizes'> {
  if (!existsSync(file)) return { operations: [], sizes: {} }
  return JSON.parse(readFileSync(file, 'utf8')) as Pick<Played, 'operations' | 'sizes'>
}
