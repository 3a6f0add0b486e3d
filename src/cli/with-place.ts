import { shellWord } from '../base/command.ts'
import type { GlobalFlags } from './command.ts'

/** A command for this run, with the flags that determine where its record is and which secrets are set. */
export function withPlace(
  words: string,
  { chdir, env, config }: Pick<GlobalFlags, 'chdir' | 'env' | 'config'>,
): string {
  const flags = [
    ...(chdir === undefined ? [] : ['-C', chdir]),
    ...(env === undefined ? [] : ['--env', env]),
    ...config.filter((setting) => setting.startsWith('runs.dir=')).flatMap((setting) => ['-c', setting]),
  ]
  return [words, ...flags.map(shellWord)].join(' ')
}
