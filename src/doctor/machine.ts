import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { compareNodeVersions } from './node-version.ts'
import type { Check, Patient } from './check.ts'

const oldestNode = '20.19.0'

export function checkBaton({ version, root }: Patient): Check {
  return { name: 'baton', status: 'ok', message: `${version} in ${root}` }
}

export function checkNode({ node: { version, platform, arch } }: Patient): Check {
  const message = `${version} on ${platform} ${arch}`
  if (compareNodeVersions(version, oldestNode) < 0) {
    return { name: 'node', status: 'fail', message, hint: `Install Node ${oldestNode} or later.` }
  }
  return { name: 'node', status: 'ok', message }
}

export function checkTerminal({ env, terminal: { out, err, columns } }: Patient): Check {
  const name = 'terminal'
  if (!err) return { name, status: 'note', message: 'stderr is not one: progress is written line by line' }
  if (env['TERM'] === 'dumb') return { name, status: 'note', message: 'TERM is dumb: progress is written line by line' }
  if (env['CI']) return { name, status: 'note', message: 'CI is set: progress is written line by line' }
  const color = env['NO_COLOR'] ? ', NO_COLOR is set' : ''
  return { name, status: 'ok', message: `${columns} columns${out ? '' : ', stdout goes elsewhere'}${color}` }
}

/** What holds the programs of models one day; only said, because nothing in this version needs it. */
export function checkSandbox(patient: Patient): Check {
  const { platform } = patient.node
  const program = platform === 'linux' ? 'bwrap' : platform === 'darwin' ? 'sandbox-exec' : undefined
  const name = 'sandbox'
  if (program === undefined) return { name, status: 'note', message: `none on ${platform}; this version needs none` }
  const found = programPath(program, patient.env)
  const message = found === undefined ? `${program} is not found` : `${program} is ${found}`
  return { name, status: 'note', message: `${message}; this version needs none` }
}

/** Where a program is that the user may run. */
export function programPath(program: string, env: Patient['env']): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, program)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
