import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from './baton.ts'
import { tempTree } from './temp.ts'

/** A process in which the built command runs for every caller of a script, so that only the first run loads it. */
export interface CommandServer {
  /** The script that replaces `baton` in a shell. */
  readonly script: string
  readonly stop: () => void
}

export async function startCommandServer(): Promise<CommandServer> {
  const command = join(root, 'dist/bin/baton.js')
  const socket = join(tempTree(), 'socket')
  const server = fork(join(import.meta.dirname, 'command-server.mjs'), [command, socket], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  await once(server, 'message')
  return { script: scriptOf(command, socket), stop: () => server.disconnect() }
}

/**
 * Commands that read stdin, and those that a test wants to be separate, run in their own process; without Perl, all do.
 */
function scriptOf(command: string, socket: string): string {
  const client = join(import.meta.dirname, 'command-client.pl')
  return `#!/bin/sh
if [ -n "$BATON_TEST_OWN_PROCESS" ] || [ -p /dev/stdin ] || [ -f /dev/stdin ] || ! command -v perl >/dev/null; then
  exec '${process.execPath}' '${command}' "$@"
fi
exec perl '${client}' '${socket}' '${process.execPath}' '${command}' "$@"
`
}
