import { existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../base/error.ts'
import type { Settings } from '../config/settings.ts'
import { isOnNetwork } from '../journal/network.ts'
import { runsFolder } from '../journal/run-id.ts'
import type { Check, Patient } from './check.ts'

/**
 * Whether runs can be recorded: tried in the nearest folder that exists, and removed again. Permissions alone say little,
 * for example to root.
 */
export function checkState(
  { env, home }: Patient,
  { settings, workspace }: { readonly settings: Settings; readonly workspace: string },
): Check {
  const { dir } = settings.runs
  const folder = runsFolder({ env, home, workspace, runsDir: dir })
  const name = 'runs'
  try {
    const existing = nearestFolder(folder)
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a folder`)
    rmdirSync(mkdtempSync(join(existing, '.baton-doctor-')))
  } catch (error) {
    const hint = 'Make the folder writable, or set dir in [runs] of your config file, or BATON_HOME.'
    return { name, status: 'fail', message: `cannot be recorded in ${folder}: ${messageOf(error)}`, hint }
  }
  if (isOnNetwork(folder)) {
    const hint = 'Set dir in [runs] of your config file to a folder of this machine.'
    return { name, status: 'warn', message: `are not kept: ${folder} is on a network file system`, hint }
  }
  return { name, status: 'ok', message: `are recorded in ${folder}` }
}

function nearestFolder(folder: string): string {
  let path = folder
  while (!existsSync(path) && path !== dirname(path)) path = dirname(path)
  return path
}
