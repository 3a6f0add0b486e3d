import { constants, platform } from 'node:os'
import { canBeStarted, type Program } from './process-gate.ts'
import type { StartOptions } from './process.ts'

/**
 * A program below a shell that leads its group and stays as long as the program does. When this process was killed, a program that
 * reads finds the end of its input and leaves, and nobody could tell any more whose the rest of its group is: the shell ends it then.
 * A program that stays is ended by a second shell, which reads from a pipe that only this process could write to: its end says that
 * nobody is there. While this process is there, it does all that itself. A program that was killed by a signal ends with the code
 * that `signalOf` knows.
 */
export function underWatch({
  command,
  args,
  cwd,
  environment,
}: Program): Pick<StartOptions, 'command' | 'args' | 'onMessage'> {
  // what cannot be started is started as it is, so that the system says why
  if (platform() === 'win32' || !canBeStarted({ command, cwd, environment })) return { command, args }
  const endAll = ["trap '' TERM", 'kill -TERM 0', 'sleep 5', 'kill -KILL 0']
  const script = [
    `{ read -r _ <&3; sleep ${graceSeconds}; ${endAll.join('; ')}; } >/dev/null 2>&1 &`,
    'watch=$!',
    '"$@" 3<&-',
    'code=$?',
    // what is not waited for stays in the group until the system has noticed
    'if kill -0 "$PPID" 2>/dev/null; then kill -KILL $watch; wait $watch 2>/dev/null; exit $code; fi',
    ...endAll,
  ]
  return { command: '/bin/sh', args: ['-c', script.join('\n'), 'sh', command, ...args], onMessage() {} }
}

/** How long a program has that is left behind: it may be at work, and a resumed run that comes sooner ends it. */
const graceSeconds = 5

/** A shell says of a program that was killed 128 and the number of the signal. */
export function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
}
