import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, hasSystemCode } from '../base/error.ts'

const idPattern = /^\d{8}-\d{6}-(?:[0-9a-f]{6}|[0-9a-f]{9})$/

/** The ids of the runs in a folder, the newest first. */
export function runIds(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => idPattern.test(name))
      .toSorted()
      .toReversed()
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return []
    throw error
  }
}

/**
 * The folder of the run that an id, the beginning of one, or `last` for the newest means.
 * @throws BatonError USAGE when it means none or several
 */
export function findRun(folder: string, asked: string): string {
  const all = runIds(folder)
  const found = asked === 'last' ? all.slice(0, 1) : all.filter((id) => asked !== '' && id.startsWith(asked))
  const [id, ...others] = found
  if (id !== undefined && others.length === 0) return join(folder, id)
  if (id === undefined) {
    if (all.length > 0) {
      throw new BatonError('USAGE', `there is no run ${asked} of this workspace`, { hint: 'See baton runs.' })
    }
    throw new BatonError('USAGE', 'there is no run of this workspace yet', { hint: 'baton run FILE makes one.' })
  }
  throw new BatonError('USAGE', `${asked} means ${found.length} runs: ${found.slice(0, 5).join(', ')}`, {
    hint: 'Write more of the id.',
  })
}
