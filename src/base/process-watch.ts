import { constants, platform } from 'node:os'
import { canBeStarted, type Program } from './process-gate.ts'
import type { StartOptions } from './process.ts'

/**
 * Runs a program below a shell that leads its group and lives as long as the program. If this process is killed, a
 * program that reads stdin sees its end and exits, after which the rest of its group could no longer be identified: the
 * shell ends it then. A program that keeps running is ended by a second shell, which reads from a pipe that only this
 * process could write to: the end of the pipe means that this process is gone. While this process lives, it does all
 * that itself: the shell asks it through the pipe when the program has ended. A program killed by a signal exits with the
 * code that `signalOf` decodes.
 */
export function watchedProgram({
  command,
  args,
  cwd,
  environment,
}: Program): Pick<StartOptions, 'command' | 'args' | 'onMessage'> {
  // a program that cannot be started is started directly, so that the system reports why
  if (platform() === 'win32' || !canBeStarted({ command, cwd, environment })) return { command, args }
  const endAll = ["trap '' TERM", 'kill -TERM 0', 'sleep 5', 'kill -KILL 0']
  const script = [
    `{ read -r _ <&3; sleep ${graceSeconds}; ${endAll.join('; ')}; } >/dev/null 2>&1 &`,
    'watch=$!',
    '"$@" 3<&-',
    'code=$?',
    // the watch is waited for, because it stays in the group until then
    'kill -KILL $watch; wait $watch 2>/dev/null',
    // a killed process can look alive for a while after its pipes are closed, and as a zombie: only an answer is proof
    "trap '' PIPE",
    '{ echo >&3; } 2>/dev/null && read -r _ <&3 && exit $code',
    ...endAll,
  ]
  return {
    command: '/bin/sh',
    args: ['-c', script.join('\n'), 'sh', command, ...args],
    onMessage: (_, answer) => answer('\n'),
  }
}

/** Grace period of an orphaned program: it may be at work, and a resumed run that starts sooner ends it. */
const graceSeconds = 5

/** For a killed program a shell returns 128 plus the number of the signal. */
export function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
}
