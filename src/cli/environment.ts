import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { BatonError, messageOf } from '../base/error.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'

export interface Surroundings {
  readonly cwd: string
  readonly env: CommandIo['env']
}

/**
 * The folder and the environment a command works in, after `-C` and `--env-file`. Variables that are set already win
 * over the file; an empty one counts as not set.
 * @throws BatonError USAGE when the file cannot be read
 */
export function surroundings({ chdir, envFile }: GlobalFlags, io: CommandIo): Surroundings {
  const cwd = chdir === undefined ? io.cwd : resolve(io.cwd, chdir)
  if (envFile === undefined) return { cwd, env: io.env }
  const file = resolve(io.cwd, envFile)
  try {
    return { cwd, env: { ...io.env, ...parseEnv(readFileSync(file, 'utf8')), ...setVariables(io.env) } }
  } catch (error) {
    throw new BatonError('USAGE', `--env-file cannot be read: ${messageOf(error)}`, { place: { file }, cause: error })
  }
}

function setVariables(env: CommandIo['env']): CommandIo['env'] {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
}
