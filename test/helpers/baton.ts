import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tempTree } from './temp.ts'
import { type CommandCall, type CommandEnd, createWarmCommand, type WarmCommand } from './warm-command.ts'

export const root = join(import.meta.dirname, '../..')
const command = join(root, 'dist/bin/baton.js')
/** Shared by all tests: with a separate home per run, everything would be compiled and written each time. */
export const codeCache = join(root, 'node_modules/.cache/baton')

export interface BatonOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Default: end-to-end tests run it in the process shared with earlier runs (warm-command.ts). */
  readonly process?: 'own'
  /** The content of standard input; if omitted, it is closed. */
  readonly input?: string | Uint8Array
  /** Called with everything written to stdout so far; may send a signal. */
  readonly onOutput?: (stdout: string, kill: (signal: NodeJS.Signals) => void) => void
  readonly onError?: (stderr: string, kill: (signal: NodeJS.Signals) => void) => void
}

export interface BatonResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Where this call kept its state: `BATON_HOME`. */
  readonly home: string
}

const shared: { warm?: WarmCommand } = {}

/**
 * From now on, runs share one process as long as they do not overlap and do nothing that needs their own process. It is
 * shared by all test files of a worker. Returns the function to call when the tests of a file are done.
 */
export function useWarmCommand(): () => Promise<void> {
  if (process.env['BATON_TEST_OWN_PROCESS'] === '1') return async () => undefined
  shared.warm ??= createWarmCommand(command)
  return shared.warm.rest
}

/** A run in the process shared with earlier runs; undefined if none is free. */
export function runShared(call: CommandCall): Promise<CommandEnd> | undefined {
  return shared.warm?.run(call)
}

/** Runs the built command with an environment that contains nothing of the machine it runs on. */
export async function baton(args: readonly string[], options: BatonOptions): Promise<BatonResult> {
  const home = tempTree()
  const env = {
    PATH: process.env['PATH'],
    TMPDIR: tmpdir(),
    HOME: home,
    BATON_HOME: join(home, 'baton'),
    NO_COLOR: '1',
    BATON_LOCAL_SERVERS: 'off',
    NODE_COMPILE_CACHE: codeCache,
    ...options.env,
  }
  const { cwd, input, onOutput, onError } = options
  const isPlain = onOutput === undefined && onError === undefined && options.process !== 'own'
  const given = inputOf(args, input)
  const warm = isPlain && given !== 'own' ? runShared({ args, cwd, env, ...given }) : undefined
  const { code, stdout, stderr } = await (warm ?? runInOwnProcess(args, { ...options, env }))
  return { code, stdout, stderr, home: env.BATON_HOME }
}

/**
 * The input of a run in the shared process. Most commands look at what kind of file their standard input is, which needs
 * a separate process.
 */
export function inputOf(args: readonly string[], input: BatonOptions['input']): Pick<CommandCall, 'input'> | 'own' {
  if (input === undefined) return {}
  return args[0] === 'chat' && typeof input === 'string' ? { input } : 'own'
}

function runInOwnProcess(
  args: readonly string[],
  { cwd, env, input, onOutput, onError }: Omit<BatonOptions, 'env'> & Pick<CommandCall, 'env'>,
): Promise<CommandEnd> {
  const child = spawn(process.execPath, [command, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  // a command that does not read its stdin may have ended already
  child.stdin.on('error', () => undefined).end(input)
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    onOutput?.(stdout, kill)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    onError?.(stderr, kill)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Every file below a folder with its content, to compare what a run changed. */
export function snapshot(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    filesBelow(folder).map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  )
}

/** Does not follow links: the recursive option of Node 24 follows them. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}

export function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
