import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from './baton.ts'
import { tempTree } from './temp.ts'

/** A process in which a program runs for every caller of a script, so that only the first run loads it. */
export interface CommandServer {
  /** The script that replaces the program in a shell. */
  readonly script: string
  /** @throws Error if the process does not exit by itself, because a run has left something open */
  readonly stop: () => Promise<void>
}

/** `node` runs the module that is its first argument, in which libraries are loaded once. */
export async function startCommandServer(program: 'baton' | 'node'): Promise<CommandServer> {
  const command = program === 'baton' ? join(root, 'dist/bin/baton.js') : join(import.meta.dirname, 'run-module.cjs')
  const socket = join(tempTree(), 'socket')
  const server = fork(join(import.meta.dirname, 'command-server.mjs'), [command, socket], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  await once(server, 'message')
  return {
    script: program === 'baton' ? batonScript(command, socket) : nodeScript(command, socket),
    async stop() {
      const ended = once(server, 'exit')
      server.disconnect()
      const [code] = (await ended) as [number | null]
      if (code !== 0) throw new Error(`a run of ${program} has left something open`)
    },
  }
}

/**
 * Commands that read stdin, and those that a test wants to be separate, run in their own process; without Perl, all do.
 */
function batonScript(command: string, socket: string): string {
  const client = join(import.meta.dirname, 'command-client.pl')
  return `#!/bin/sh
if [ -n "$BATON_TEST_OWN_PROCESS" ] || [ -p /dev/stdin ] || [ -f /dev/stdin ] || ! command -v perl >/dev/null; then
  exec '${process.execPath}' '${command}' "$@"
fi
exec perl '${client}' '${socket}' '${process.execPath}' '${command}' "$@"
`
}

/** Programs without input that are one module; all else is for Node itself. */
function nodeScript(command: string, socket: string): string {
  const client = join(import.meta.dirname, 'command-client.pl')
  return `#!/bin/sh
if [ -z "$BATON_TEST_OWN_PROCESS" ] && [ $# = 1 ] && [ "\${1%.mjs}" != "$1" ] && [ -c /dev/stdin ] && command -v perl >/dev/null; then
  exec perl '${client}' '${socket}' '${process.execPath}' '${command}' "$@"
fi
exec '${process.execPath}' "$@"
`
}
