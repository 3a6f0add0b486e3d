import { spawnSync } from 'node:child_process'
import { type Fault, numbersTo, trials } from './fault.ts'

/** The same kills by the operating system: also between two operations of the process, where no wrapper can act. */
export const systemCalls: Fault = {
  id: 'F1',
  name: 'SIGKILL at system calls, by strace',
  points: (context) =>
    trials(
      hasStrace()
        ? [
            ...numbersTo(4).map((number) => inject('fsync', number)),
            ...numbersTo(16).map((number) => inject('fdatasync', number)),
            ...numbersTo(30).map((number) => inject('write', number * 9)),
            ...numbersTo(1).map((number) => inject('link', number)),
            ...numbersTo(20).map((number) => inject('rename', number)),
          ]
        : [],
      context,
    ),
}

function inject(
  call: string,
  when: number,
): { readonly at: string; readonly starts: readonly [{ through: string[] }] } {
  const options = [`trace=${call}`, `inject=${call}:signal=SIGKILL:when=${when}`].flatMap((option) => ['-e', option])
  return {
    at: `${call} ${when}`,
    starts: [{ through: ['strace', '-f', '-qq', '-o', '/dev/null', ...options] }],
  }
}

function hasStrace(): boolean {
  return process.platform === 'linux' && spawnSync('strace', ['-V']).status === 0
}
