import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { commandEnvironment } from '../base/command.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { isInside, realPath, writeFileAtomic } from '../base/files.ts'
import { isJsonObject, type Json, parseSentJson } from '../base/json.ts'
import { makeFolderPrivate } from '../base/private-folder.ts'
import { runProcess } from '../base/process.ts'
import { findProgram } from '../base/program.ts'
import { cutText } from '../base/cut-text.ts'
import { userPricesFile } from '../config/locate.ts'
import type { Environment } from '../model/choice.ts'
import { bundledPrices } from '../model/price-package.ts'
import {
  isNewer,
  readUpdatedPrices,
  tableOfPrices,
  type UpdatedPrices,
  updatedPricesText,
} from '../model/updated-prices.ts'
import { createJavaScriptBox } from '../script/javascript/box.ts'
import { defaultLimits } from '../script/javascript/program.ts'

interface Around {
  readonly env: Environment
  readonly home: string
  /** Nothing in it decides what is taken from where. */
  readonly workspace: string
  readonly signal: AbortSignal
}

type Fetching = Omit<Around, 'home'> & {
  /** Where the prices are kept; the package is unpacked beside it. */
  readonly file: string
}

/** Versions of the package of prices. */
interface PriceUpdate {
  readonly name: string
  /** The one that is used from now on. */
  readonly version: string
  readonly before: string
  readonly newest: string
}

/**
 * Takes the newest package of prices by npm; later runs calculate with it. The package comes from where the user's own
 * npm gets packages; nothing of the current folder decides that. Its program is only run in a box that can do nothing
 * but compute. If anything fails, the prices stay as they are.
 * @throws BatonError NOT_AVAILABLE without npm, FILE_FAILED; the reason of the signal
 */
export async function updatePrices({ home, ...around }: Around): Promise<PriceUpdate> {
  const file = userPricesFile({ env: around.env, home })
  const before = readUpdatedPrices(file)?.version ?? bundledPrices.version
  const fetched = await fetchPrices({ ...around, file })
  const isChanged = isNewer(fetched.version, before)
  if (isChanged) writeFileAtomic(file, updatedPricesText(fetched))
  return { name: bundledPrices.name, version: isChanged ? fetched.version : before, before, newest: fetched.version }
}

async function fetchPrices({ env, workspace, file, signal }: Fetching): Promise<UpdatedPrices> {
  const npm = findProgram('npm', env, workspace)
  if (npm === undefined) {
    throw new BatonError('NOT_AVAILABLE', 'there is no npm to get the prices with', {
      hint: 'Install npm, or set prices in [prices] of your config file.',
    })
  }
  const parent = join(file, '..')
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  makeFolderPrivate(parent, {
    what: 'the folder of prices',
    hint: 'Set BATON_HOME or XDG_DATA_HOME to a folder of your own.',
  })
  const folder = mkdtempSync(join(parent, '.new-'))
  const run = async (...args: readonly string[]): Promise<string> =>
    runNpm([npm, ...args], { env, workspace, folder, signal })
  try {
    writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--omit=dev', '--prefer-online']
    await run('install', ...quiet, `${bundledPrices.name}@latest`)
    const { version, code } = readPackage(join(folder, 'node_modules', bundledPrices.name))
    const providers = tableOfPrices(await dataOf(code, signal))
    if (providers === undefined) throw unusable(version, 'it has another form than expected')
    // a registry may not tell
    const times = await run('view', '--json', `${bundledPrices.name}@${version}`, 'time').catch(() => '')
    signal.throwIfAborted()
    return { version, published: publishedOn(times, version), providers }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** By itself npm waits for minutes where there is no network. */
const impatience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000']

const limits = { timeMs: 120_000, outputBytes: 1_000_000, codeBytes: 20_000_000 } as const

/** Runs npm in a folder of its own, and returns what it prints. */
async function runNpm(
  [program = '', ...args]: readonly string[],
  { env, workspace, folder, signal }: Omit<Fetching, 'file'> & { readonly folder: string },
): Promise<string> {
  const path = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((each) => isAbsolute(each) && !isInside(workspace, realPath(each)))
  // a package manager gives what it starts the settings of its folder, as if the user had set them
  const isStartedByOne = ['npm_command', 'npm_execpath', 'npm_lifecycle_event'].some((name) => env[name] !== undefined)
  const own = isStartedByOne ? [] : Object.entries(env).filter(([name]) => /^npm_/i.test(name))
  const { end, stdout, stderr } = await runProcess(
    {
      command: program,
      args: [...args, ...impatience, '--prefix', folder, '--no-update-notifier'],
      cwd: folder,
      environment: { ...commandEnvironment({ ...env, PATH: path.join(delimiter) }), ...textsOf(own) },
      timeLimitMs: limits.timeMs,
      maxOutputBytes: limits.outputBytes,
    },
    signal,
  )
  if (end.kind === 'exited' && end.code === 0) return stdout.text
  const why = {
    exited: '',
    killed: 'it was stopped',
    timed_out: 'it took longer than two minutes',
    not_started: 'it cannot be started',
  }
  const told = stderr.text.split('\n').filter((line) => /\berr(?:or)?\b/i.test(line) && !line.includes('complete log'))
  const reason =
    why[end.kind] || cutText(told.slice(0, 3).join('; '), 600) || `exit code ${'code' in end ? end.code : ''}`
  throw new BatonError('FILE_FAILED', `npm could not get ${bundledPrices.name}: ${reason}`, {
    hint: 'The prices are the same as before. npm takes packages from where your own npm settings say.',
  })
}

function textsOf(entries: readonly (readonly [string, string | undefined])[]): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])))
}

/** The version of the unpacked package, and its program. */
function readPackage(folder: string): { readonly version: string; readonly code: string } {
  try {
    const manifest = parseSentJson(readFileSync(join(folder, 'package.json'), 'utf8'))
    const { version, main } = isJsonObject(manifest) ? manifest : {}
    if (typeof version !== 'string' || typeof main !== 'string') throw new Error('its package.json is incomplete')
    const file = realPath(resolve(folder, main))
    if (!isInside(realPath(folder), file) || statSync(file).size > limits.codeBytes)
      throw new Error(`it has no ${main}`)
    return { version, code: readFileSync(file, 'utf8') }
  } catch (error) {
    throw unusable('', messageOf(error))
  }
}

/** What the package would calculate with. Its program can only compute: it gets no files, no network and no clock. */
async function dataOf(code: string, signal: AbortSignal): Promise<Json> {
  const box = createJavaScriptBox()
  try {
    const program = `const module = { exports: {} };\n(function (module, exports) {${code}\n})(module, module.exports);\nreturn module.exports.waitForUpdate()`
    const end = await box.run(
      { code: program },
      { functions: [], call: async () => ({ value: null }) },
      { limits: { ...defaultLimits, outputChars: limits.codeBytes }, seed: 1, now: 0, signal },
    )
    if (end.kind === 'error') throw unusable('', end.message)
    return end.value
  } finally {
    await box.close()
  }
}

function unusable(version: string, reason: string): BatonError {
  const what = version === '' ? bundledPrices.name : `${bundledPrices.name} ${version}`
  return new BatonError('FILE_FAILED', `${what} cannot be used: ${cutText(reason, 300)}`, {
    hint: 'The prices are the same as before. A newer version of Baton may be able to use it.',
  })
}

function publishedOn(times: string, version: string): string | undefined {
  try {
    const data = parseSentJson(times)
    const time = isJsonObject(data) ? data[version] : undefined
    return typeof time === 'string' && /^\d{4}-\d\d-\d\dT/.test(time) ? time.slice(0, 10) : undefined
  } catch {
    return undefined
  }
}
