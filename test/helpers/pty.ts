import { spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './baton.ts'
import { tempTree } from './temp.ts'
import { VirtualTerminal } from './virtual-terminal.ts'

/** The version of util-linux; that of BSD and macOS takes different flags. */
const program = 'script'

export interface PtyOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
  /** Called after each piece of output; may type. */
  readonly onScreen?: (terminal: VirtualTerminal, type: (keys: string) => void) => void
}

export interface PtyResult {
  readonly code: number | null
  /** Every byte that the terminal received. */
  readonly output: string
  readonly terminal: VirtualTerminal
}

/**
 * Runs a shell command under a pseudo-terminal of util-linux `script`; `baton` in it is the built command. Its output
 * goes to a virtual terminal, byte by byte as to a real one.
 */
export function inTerminal(
  command: string,
  { cwd, env = {}, columns = 80, rows = 24, onScreen }: PtyOptions,
): Promise<PtyResult> {
  if (!/util-linux/.test(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')) {
    throw new Error('these tests need the command `script` of util-linux (Debian: bsdutils)')
  }
  const home = tempTree()
  const baton = `baton() { '${process.execPath}' '${join(root, 'dist/bin/baton.js')}' "$@"; }`
  const script = `stty cols ${columns} rows ${rows}\n${baton}\n${command}`
  const child = spawn(program, ['--quiet', '--flush', '--return', '--command', script, '/dev/null'], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      TMPDIR: tmpdir(),
      HOME: home,
      SHELL: '/bin/sh',
      TERM: 'xterm-256color',
      BATON_HOME: join(home, 'baton'),
      BATON_LOCAL_SERVERS: 'off',
      ...env,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const terminal = new VirtualTerminal(columns, rows)
  let output = ''
  let rest = ''
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const whole = rest + text
      // a control sequence may arrive in two pieces
      // oxlint-disable-next-line no-control-regex
      const end = /\u001b(?:\[[?\d;]*)?$/.exec(whole)?.index ?? whole.length
      rest = whole.slice(end)
      try {
        terminal.write(whole.slice(0, end))
        onScreen?.(terminal, (keys) => child.stdin.write(keys))
      } catch (error) {
        child.kill()
        reject(error as Error)
      }
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output, terminal }))
  })
}
