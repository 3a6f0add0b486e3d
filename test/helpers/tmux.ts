import { spawnSync } from 'node:child_process'
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
}

/** A command in a terminal that another program renders: it interprets cursor movement and erasing independently. */
export function inTmux(command: string, env: Readonly<Record<string, string>>, cwd: string, rows = 24): Screen {
  const socket = join(tempTree({}), 'tmux')
  const tmux = (args: readonly string[], input?: string): string =>
    spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      cwd,
      env: { ...process.env, ...env },
      ...(input === undefined ? {} : { input }),
    }).stdout
  onTestFinished(() => void tmux(['kill-server']))
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
    `trap : INT; ${command}; echo "code $?"; sleep 60`,
  ])
  return {
    lines: () => tmux(['capture-pane', '-p']).trimEnd().split('\n'),
    type: (...keys) => void tmux(['send-keys', ...keys]),
    paste(text) {
      tmux(['load-buffer', '-'], text)
      tmux(['paste-buffer', '-p'])
    },
  }
}
