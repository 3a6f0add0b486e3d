import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempTree } from './temp.ts'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0

export interface Screen {
  /** The lines of the screen, without empty lines at the end. */
  readonly lines: () => readonly string[]
  readonly type: (...keys: readonly string[]) => void
  /** Pastes a text like a terminal that distinguishes pasting from typing. */
  readonly paste: (text: string) => void
  /** Sends the bytes of ASCII text as they are, at once. */
  readonly send: (text: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Everything that the command has written so far, with its control characters. */
  readonly output: () => string
  readonly close: () => void
}

/** A command in a terminal that another program renders: it interprets cursor movement and erasing independently. */
export function inTmux(command: string, env: Readonly<Record<string, string>>, cwd: string, rows = 24): Screen {
  const folder = tempTree({})
  const socket = join(folder, 'tmux')
  const file = join(folder, 'output')
  const tmux = (args: readonly string[], input?: string): string =>
    spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      cwd,
      env: { ...process.env, ...env },
      ...(input === undefined ? {} : { input }),
    }).stdout
  const close = (): void => void tmux(['kill-server'])
  onTestFinished(close)
  const size = ['-x', '120', '-y', String(rows)]
  tmux([
    'new-session',
    '-d',
    ...size,
    'env',
    '-u',
    'CI',
    'sh',
    '-c',
    // it begins when its output is written down; how it ended is written at once and by the shell itself, because Ctrl-C
    // ends every other program, and tmux loses what it has not passed on when that ends the shell, too
    `until [ -e '${file}' ]; do sleep 0.02; done; trap : INT; ${command}; code="code $?"; echo "$code" >> '${file}'; echo "$code"; sleep 60`,
  ])
  tmux(['pipe-pane', `cat >> '${file}'`])
  writeFileSync(file, '', { flag: 'a' })
  return {
    lines: () => tmux(['capture-pane', '-p']).trimEnd().split('\n'),
    type: (...keys) => void tmux(['send-keys', ...keys]),
    paste(text) {
      tmux(['load-buffer', '-'], text)
      tmux(['paste-buffer', '-p'])
    },
    send: (text) => void tmux(['send-keys', '-H', ...[...Buffer.from(text)].map((byte) => byte.toString(16))]),
    resize: (columns, height) => void tmux(['resize-window', '-x', String(columns), '-y', String(height)]),
    output: () => readFileSync(file, 'utf8'),
    close,
  }
}
