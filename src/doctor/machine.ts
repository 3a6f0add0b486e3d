import { createScriptLoader } from '../agent/script-loader.ts'
import { isFile } from '../base/entries.ts'
import { messageOf } from '../base/error.ts'
import { runProcess } from '../base/process.ts'
import { findProgram } from '../base/program.ts'
import { proxyOf, shownProxy } from '../base/proxy.ts'
import type { Settings } from '../config/settings.ts'
import { findBoxer } from '../tool/sandbox/probe.ts'
import { attempt } from '../journal/attempt.ts'
import { isOnNetwork } from '../journal/network.ts'
import { runsFolder } from '../journal/run-id.ts'
import { checkWritable } from '../journal/writable.ts'
import { type Check, checksOf, fail, note, ok, type Patient, warn } from './check.ts'

const oldestNode = '20.19.0'
const gitLimitMs = 5_000

export function checkNode({ node: { version, platform, arch } }: Patient): Check {
  const message = `${version} on ${platform} ${arch}`
  const isOld = version.localeCompare(oldestNode, 'en', { numeric: true }) < 0
  return isOld ? fail('node', message, `Install Node ${oldestNode} or later.`) : ok('node', message)
}

export function checkTerminal({ env, terminal: { out, err, columns } }: Patient): Check {
  const why = !err ? 'stderr is not one' : env['TERM'] === 'dumb' ? 'TERM is dumb' : env['CI'] ? 'CI is set' : undefined
  if (why !== undefined) return note('terminal', `${why}: progress is written line by line`)
  const color = env['NO_COLOR'] ? ', NO_COLOR is set' : ''
  return ok('terminal', `${columns} columns${out ? '' : ', stdout is redirected'}${color}`)
}

/** How requests leave this machine, if the environment says so. */
export function checkNetwork({ env }: Patient): readonly Check[] {
  const proxies = ['http://host.invalid', 'https://host.invalid'].flatMap((address): readonly Check[] => {
    const url = new URL(address)
    try {
      const proxy = proxyOf(url, { ...env, no_proxy: '', NO_PROXY: '' })
      return proxy === undefined
        ? []
        : [ok('network', `${url.protocol}// addresses are reached through ${shownProxy(proxy)}`)]
    } catch (error) {
      return checksOf('network', error)
    }
  })
  const except = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  const file = env['NODE_EXTRA_CA_CERTS'] ?? ''
  return [
    ...proxies,
    ...(proxies.length === 0 || except === '' ? [] : [note('network', `no proxy for ${except} (NO_PROXY)`)]),
    ...(file === '' ? [] : [checkCertificates(file)]),
  ]
}

function checkCertificates(file: string): Check {
  const name = `the certificates of ${file} (NODE_EXTRA_CA_CERTS)`
  return isFile(file)
    ? ok('network', `${name} are trusted, besides those of Node`)
    : warn('network', `${name} cannot be read`, 'Set it to a file with certificates in PEM form.')
}

/** Whether programs of models can be run: without a sandbox they are not. */
export async function checkSandbox({ env, cwd }: Patient): Promise<Check> {
  const boxer = await findBoxer({ env, workspace: cwd })
  return boxer.kind === 'none'
    ? warn('sandbox', `models cannot run programs: ${boxer.problem}`, boxer.hint)
    : ok('sandbox', `${boxer.program} provides the sandbox for programs that models start`)
}

export async function checkGit({ env, home, cwd, signal }: Patient): Promise<Check> {
  const command = findProgram('git', env, cwd)
  const hint = 'Agents that look at changes need it: install git.'
  if (command === undefined) return warn('git', 'not found', hint)
  const environment = { PATH: env['PATH'] ?? '', HOME: home, LC_ALL: 'C' }
  const { end, stdout } = await runProcess(
    { command, args: ['--version'], cwd, environment, timeLimitMs: gitLimitMs, maxOutputBytes: 1000 },
    signal,
  )
  const hasRun = end.kind === 'exited' && end.code === 0
  return hasRun
    ? ok('git', stdout.text.trim().replace(/^git version /, ''))
    : warn('git', `${command} --version fails`, hint)
}

/** Loads the configured engine and computes something with it. */
export async function checkLua({ lua }: Settings, { signal }: Patient): Promise<readonly Check[]> {
  const other = lua.engine === 'lua54' ? 'fengari' : 'lua54'
  const hint = `Reinstall Baton, or set engine = "${other}" in [lua] of your config file.`
  try {
    const { engine, limits } = await createScriptLoader(lua)({ isInstalled: false })
    const state = engine.createState({ functions: [], modules: [], limits, seed: () => 0 })
    try {
      const [value] = await state.run({ name: 'doctor', text: 'return 6 * 7' }, {}, signal)
      if (value !== 42) return [fail('lua', `${engine.name} computes 6 * 7 wrongly`, hint)]
      return [ok('lua', `${engine.name} runs${lua.isolated === true ? ', in separate threads' : ''}`)]
    } finally {
      state.close()
    }
  } catch (error) {
    signal.throwIfAborted()
    return checksOf('lua', error).map((check) => ({ ...check, hint }))
  }
}

/** Whether runs can be recorded: tried in the nearest folder that exists. */
export function checkRuns(
  { env, home }: Patient,
  { settings, workspace }: { readonly settings: Settings; readonly workspace: string },
): Check {
  const folder = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const tried = attempt(() => checkWritable(folder, { isTried: true }))
  if (tried.status === 'failed') {
    const hint = 'Make the folder writable, or set dir in [runs] of your config file, or BATON_HOME.'
    return fail('runs', `cannot be recorded: ${messageOf(tried.error)}`, hint)
  }
  if (!isOnNetwork(folder)) return ok('runs', `are recorded in ${folder}`)
  const hint = 'Set dir in [runs] of your config file to a local folder.'
  return warn('runs', `are not kept: ${folder} is on a network file system`, hint)
}
