import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { listPacks, packRoots } from '../pack/find-pack.ts'
import { mayHaveServers } from '../pack/server-file.ts'
import { type Check, checksOf, fail, note, ok, type DoctorInput, warn } from './check.ts'
import { checkAgents, checkConfig, checkPacks, type ConfigFound } from './config.ts'
import { lostWorktrees } from '../base/git-worktree.ts'
import { staleTemporaryFolders } from '../base/temporary-folder.ts'
import type { Settings } from '../config/settings.ts'
import { isRunId, runIds } from '../journal/find-run.ts'
import { readRunState } from '../journal/run-state.ts'
import { runsFolder } from '../journal/run-id.ts'
import { hasEnded, worktreesFolder } from '../journal/worktrees.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import { isFile } from '../base/entries.ts'
import { messageOf } from '../base/error.ts'
import { runProcess } from '../base/process.ts'
import { findProgram } from '../base/program.ts'
import { proxyOf, shownProxy } from '../base/proxy.ts'
import { findBoxer } from '../tool/sandbox/probe.ts'
import { capture } from '../journal/work-result.ts'
import { isOnNetwork } from '../journal/network.ts'
import { checkWritable } from '../journal/writable.ts'
import { receiversOf } from '../config/deliver-notice.ts'
import { describeOrigins } from '../config/layers.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { issueText } from '../settings/issue.ts'
import { readBaseUrl, readBaseUrlVariable } from '../model/base-url.ts'
import { builtInProviders, gatewayKeyEnv, gatewayUrlEnv } from '../model/builtin.ts'
import { gatewayTarget, isKey, type ModelChoice, type ModelSources, readVariable } from '../model/choice.ts'
import { chooseModelFor } from '../model/select.ts'
import { createProvider } from '../model/create.ts'
import { askLocalServers, firstLocalModel, type LocalServer, localServersEnv } from '../model/local.ts'
import { loadModelTable, roles } from '../model/table.ts'

/**
 * Checks everything a run needs. Changes nothing, sends no key, and contacts only servers of this machine.
 * @throws the signal's reason when it is aborted
 */
export async function examine(input: DoctorInput): Promise<readonly Check[]> {
  const config = await checkConfig(input)
  const { settings, workspace } = config
  const [models, lua, git, packs, sandbox] = await Promise.all([
    checkModels(input, config),
    checkLua(settings, input),
    checkGit(input),
    checkPacks(input, workspace),
    checkSandbox(input),
  ])
  return [
    ok('baton', `${input.version} in ${input.root}`),
    checkNode(input),
    checkTerminal(input),
    ...checkNetwork(input),
    ...config.checks,
    ...checkKeys(input, settings),
    ...models,
    ...lua,
    ...packs,
    ...(config.isValid ? await checkAgents(input, workspace) : []),
    ...(await mcpChecks(input, config)),
    ...checkNotify(input, settings),
    ...(await checkTriggers(input)),
    ...(await checkSpending(input, config)),
    checkRuns(input, { settings, workspace }),
    ...(await checkLeft(input, { settings, workspace })),
    git,
    sandbox,
  ]
}

/** Nothing is sent: `baton notify` does that. */
function checkNotify({ env }: DoctorInput, { notify }: Settings): readonly Check[] {
  if (notify === undefined) return []
  const receivers = receiversOf(notify, env)
  if (receivers.length === 0)
    return [warn('notify', '[notify] has neither command nor webhook', 'Add one, or remove the table.')]
  const missing = [notify.secret_env, notify.webhook_env].find((name) => name !== undefined && !env[name])
  if (missing !== undefined)
    return [fail('notify', `${missing} is not set`, 'Set it, or change [notify] in your config file.')]
  return [ok('notify', `${receivers.join(' and ')}; baton notify --test sends a notice`)]
}

/** What baton serve would start, and what is wrong with it. */
async function checkTriggers({ cwd, env, home }: DoctorInput): Promise<readonly Check[]> {
  const config = await loadTargetConfig({ cwd, env, home, flags: { overrides: [] } }).catch(() => undefined)
  if (config === undefined || config.layers.every(({ values }) => values['trigger'] === undefined)) return []
  const { readTriggers } = await import('../config/triggers.ts')
  const { triggers, problems } = await readTriggers(config, { env, home })
  if (problems.length > 0)
    return problems.map(({ severity, ...issue }) =>
      (severity === 'error' ? fail : warn)('trigger', issueText(issue), issue.hint),
    )
  return [ok('trigger', `${triggers.map(({ name }) => name).join(', ')}; baton serve follows them`)]
}

/** What runs have cost, where that is limited. */
async function checkSpending(
  { env, home }: DoctorInput,
  { settings, workspace }: ConfigFound,
): Promise<readonly Check[]> {
  const { budget, runs } = settings
  if (budget.day === undefined && budget.month === undefined) return []
  const { periodTotals, totalText } = await import('../journal/period-budget.ts')
  const totals = await periodTotals(runsFolder({ env, home, workspace, runsDir: runs.dir }), budget)
  return totals
    .filter(({ max_cost, workspace_max_cost }) => (max_cost ?? workspace_max_cost) !== null)
    .map((total) => {
      const isUsed =
        total.usd >= (total.max_cost ?? Infinity) || total.workspace_usd >= (total.workspace_max_cost ?? Infinity)
      if (!isUsed) return ok('budget', totalText(total))
      return warn(
        'budget',
        totalText(total),
        `Runs are refused until ${total.until}. Raise [budget.${total.period}] to allow more.`,
      )
    })
}

/** Most people have no server. */
async function mcpChecks(input: DoctorInput, config: ConfigFound): Promise<readonly Check[]> {
  const packs = listPacks({ packRoots: packRoots(config.workspace, input) })
  const isNeeded = config.settings.mcp_servers !== undefined || config.leftOut.length > 0
  if (!isNeeded && !packs.some((pack) => mayHaveServers(pack))) return []
  return (await import('./servers.ts')).checkServers(input, config)
}

/** Work trees and temporary folders that runs left behind which were killed, and how to remove them. */
async function checkLeft(
  { env, home }: DoctorInput,
  { settings, workspace }: { readonly settings: Settings; readonly workspace: string },
): Promise<readonly Check[]> {
  const runs = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const ids = capture(() => runIds(runs))
  if (ids.status === 'failed') return checksOf('runs', ids.error)
  const [ended, waiting]: [string[], string[]] = [[], []]
  for (const id of ids.value) {
    const folder = join(runs, id)
    if (!existsSync(worktreesFolder(folder)) || (await readRunState(folder))?.isRunning === true) continue
    const list = (await hasEnded(folder)) ? ended : waiting
    list.push(id)
  }
  const lost = lostWorktrees(workspace).filter((top) => isOfRun(top))
  const temporary = staleTemporaryFolders()
  return [
    ...ended.map((id) =>
      note(
        'left',
        `the work tree of ${id}, which has ended, is still there`,
        `The next run usually removes it; baton runs rm ${id} always does.`,
      ),
    ),
    ...waiting.map((id) =>
      note(
        'left',
        `${id} was interrupted and keeps its work tree`,
        `baton resume ${id} continues it; baton runs rm ${id} removes it with its work tree.`,
      ),
    ),
    ...(lost.length === 0
      ? []
      : [note('left', `git knows work trees of runs that are gone: ${lost.join(', ')}`, 'Run git worktree prune.')]),
    ...(temporary.length === 0
      ? []
      : [
          note(
            'left',
            `processes that were killed left temporary folders: ${temporary.join(', ')}`,
            'The next process that needs such a folder removes them; nothing else uses them.',
          ),
        ]),
  ]
}

/** Whether a work tree is one of a run, wherever runs are recorded now. */
function isOfRun(top: string): boolean {
  const folder = dirname(top)
  return basename(folder) === 'worktrees' && isRunId(basename(dirname(folder)))
}

const oldestNode = '20.19.0'
const gitLimitMs = 5_000

function checkNode({ node: { version, platform, arch } }: DoctorInput): Check {
  const message = `${version} on ${platform} ${arch}`
  const isOld = version.localeCompare(oldestNode, 'en', { numeric: true }) < 0
  return isOld ? fail('node', message, `Install Node ${oldestNode} or later.`) : ok('node', message)
}

function checkTerminal({ env, terminal: { out, err, columns } }: DoctorInput): Check {
  const why = !err ? 'stderr is not one' : env['TERM'] === 'dumb' ? 'TERM is dumb' : env['CI'] ? 'CI is set' : undefined
  if (why !== undefined) return note('terminal', `${why}: progress is written line by line`)
  const color = env['NO_COLOR'] ? ', NO_COLOR is set' : ''
  return ok('terminal', `${columns} columns${out ? '' : ', stdout is redirected'}${color}`)
}

/** How requests leave this machine, if the environment says so. */
function checkNetwork({ env }: DoctorInput): readonly Check[] {
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
async function checkSandbox({ env, cwd }: DoctorInput): Promise<Check> {
  const boxer = await findBoxer({ env, workspace: cwd })
  return boxer.kind === 'none'
    ? warn('sandbox', `models cannot run programs: ${boxer.problem}`, boxer.hint)
    : ok('sandbox', `${boxer.program} provides the sandbox for programs that models start`)
}

async function checkGit({ env, home, cwd, signal }: DoctorInput): Promise<Check> {
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
async function checkLua({ lua }: Settings, { signal }: DoctorInput): Promise<readonly Check[]> {
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
function checkRuns(
  { env, home }: DoctorInput,
  { settings, workspace }: { readonly settings: Settings; readonly workspace: string },
): Check {
  const folder = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const tried = capture(() => checkWritable(folder, { isTried: true }))
  if (tried.status === 'failed') {
    const hint = 'Make the folder writable, or set dir in [runs] of your config file, or BATON_HOME.'
    return fail('runs', `cannot be recorded: ${messageOf(tried.error)}`, hint)
  }
  if (!isOnNetwork(folder)) return ok('runs', `are recorded in ${folder}`)
  const hint = 'Set dir in [runs] of your config file to a local folder.'
  return warn('runs', `are not kept: ${folder} is on a network file system`, hint)
}

/** Which keys and addresses the environment has. Values of keys are never shown. */
function checkKeys({ env }: Pick<DoctorInput, 'env'>, settings: Settings): readonly Check[] {
  const known = [...Object.values(builtInProviders).flatMap(({ apiKeyEnvs }) => apiKeyEnvs), gatewayKeyEnv]
  const wanted = wantedKeys(settings)
  const names = new Set([...known, ...wanted.map(({ variable }) => variable)])
  const present = [...names].filter((name) => readVariable(env, name) !== undefined)
  const hint = 'A key is an environment variable, for example OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.'
  return [
    present.length > 0 ? ok('keys', `${present.join(', ')} (values are not shown)`) : note('keys', 'none is set', hint),
    ...present.flatMap((name) => checkKey(name, env)),
    ...wanted
      .filter(({ variable }) => !present.includes(variable))
      .map(({ by, variable }) =>
        warn(
          'keys',
          `${by} needs ${variable}, which is not set`,
          `Set ${variable}, or remove ${by} from your config file.`,
        ),
      ),
    ...checkAddresses(env),
  ]
}

function wantedKeys({ providers, gateway }: Settings): readonly { readonly variable: string; readonly by: string }[] {
  const tables = [
    ...Object.entries(providers).map(([name, { api_key_env: variable }]) => ({ by: `providers.${name}`, variable })),
    { by: 'gateway', variable: gateway?.api_key_env },
  ]
  return tables.flatMap(({ by, variable }) => (variable === undefined ? [] : [{ by, variable }]))
}

/** The same test as before a call: spaces and line breaks get into keys by copying. */
function checkKey(name: string, env: DoctorInput['env']): readonly Check[] {
  if (isKey(readVariable(env, name) ?? '')) return []
  const message = `${name} contains a space or a character that cannot be part of a key`
  return [warn('keys', message, `Set ${name} again, without quotes and line breaks.`)]
}

/** Variables that replace the address of a provider: the host they name gets its key. */
function checkAddresses(env: DoctorInput['env']): readonly Check[] {
  const rows = Object.values(builtInProviders).flatMap(({ baseUrlEnv, baseUrlForm }) =>
    baseUrlEnv === undefined ? [] : [{ variable: baseUrlEnv, form: baseUrlForm }],
  )
  return [{ variable: gatewayUrlEnv, form: undefined }, ...rows].flatMap(({ variable, form }): readonly Check[] => {
    const value = readVariable(env, variable)
    if (value === undefined) return []
    try {
      return [ok('address', `${variable} points to ${readBaseUrl(readBaseUrlVariable(value, form), variable).host}`)]
    } catch (error) {
      return [warn('address', messageOf(error), 'It looks like https://host/v1.')]
    }
  })
}

/** Looks for servers on this machine, and for the model that would answer. Servers are only asked for their models. */
async function checkModels(input: DoctorInput, config: ConfigFound): Promise<readonly Check[]> {
  const servers = await askLocalServers(input)
  const found = checkServers(servers)
  if (!config.isValid) return [...found, note('model', 'not checked, because the config is invalid')]
  return [...found, ...(await checkChoice(servers, input, config))]
}

function checkServers(servers: readonly LocalServer[]): readonly Check[] {
  if (servers.length === 0) return [note('servers', `not checked, because ${localServersEnv} is off`)]
  const isRemote = !servers.some(({ provider }) => provider.name === 'ollama')
  const remote = isRemote
    ? [note('servers', 'OLLAMA_HOST is not on this machine: it is not contacted, and only used for ollama::NAME')]
    : []
  const answering = servers.filter(({ models }) => models !== undefined)
  if (answering.length === 0) {
    const asked = servers.map(({ provider }) => `${provider.name} ${hostOf(provider)}`).join(', ')
    return [note('servers', `no server on this machine answers (${asked})`), ...remote]
  }
  const checks = answering.map(({ provider, models = [] }): Check => {
    const where = `${provider.name} on ${hostOf(provider)}`
    if (models.length === 0) return warn('servers', `${where} has no model`, 'Load one there.')
    const more = models.length > 3 ? ` and ${models.length - 3} more` : ''
    return ok('servers', `${where} has ${models.slice(0, 3).join(', ')}${more}`)
  })
  return [...checks, ...remote]
}

async function checkChoice(
  servers: readonly LocalServer[],
  { env, root }: DoctorInput,
  { settings, origins }: ConfigFound,
): Promise<readonly Check[]> {
  const { providers, gateway, model_aliases: aliases, model } = settings
  const sources: ModelSources = { env, providers, gateway, aliases }
  const table = loadModelTable(join(root, 'agents', 'models.toml'))
  const choose = (name: string | undefined): Promise<ModelChoice> =>
    chooseModelFor(name, sources, {
      loadTable: () => table,
      findLocal: async () => firstLocalModel(servers),
      isAttended: true,
    })
  let choice: ModelChoice
  try {
    choice = await choose(model)
  } catch (error) {
    // if none is named, prompt files and -m may still name one
    return checksOf('model', error, model === undefined ? 'warn' : 'fail')
  }
  try {
    // finds a key that is missing or cannot be sent, and an invalid address; nothing is sent
    await createProvider(choice, { env })
    const why = model === undefined ? reasonFor(choice, sources) : await whereNamed(model, origins)
    const { label, notice, provider } = choice
    if (provider.kind !== 'offline' || notice === undefined)
      return [ok('model', `${label}: ${why}`), ...(await checkRoles(choose))]
    const hint = notice.slice(notice.indexOf(';') + 2)
    return [warn('model', `${label}: ${why}`, `${hint.slice(0, 1).toUpperCase()}${hint.slice(1)}.`)]
  } catch (error) {
    return checksOf('model', error)
  }
}

async function whereNamed(model: string, origins: ConfigFound['origins']): Promise<string> {
  const named = origins.filter(({ path }) => path.length === 1 && path[0] === 'model')
  const [row] = await describeOrigins({ origins: named })
  return `${JSON.stringify(model)} is set by ${row?.origin ?? 'the settings'}`
}

function reasonFor({ provider }: ModelChoice, sources: ModelSources): string {
  if (provider.kind === 'offline') return 'no key is set, and no server of this machine has a model'
  if (gatewayTarget(sources) !== undefined) return `the gateway ${hostOf(provider)} accepts every model name`
  if (provider.isFree && provider.apiKeyEnv === undefined) {
    return `no key is set, and ${provider.name} on ${hostOf(provider)} has it`
  }
  if (provider.keyCommand !== undefined) return `${provider.keyCommand.from} prints the key`
  if (provider.apiKeyEnv === undefined) return `${provider.name} of your config file needs no key`
  return `${provider.apiKeyEnv} is the first key that is set`
}

/** The models behind the three names that always exist. */
async function checkRoles(choose: (name: string) => Promise<ModelChoice>): Promise<readonly Check[]> {
  try {
    const choices = await Promise.all(roles.map(async (role) => `${role} is ${(await choose(role)).label}`))
    return [ok('aliases', choices.join(', '))]
  } catch (error) {
    return checksOf('aliases', error, 'note')
  }
}

function hostOf({ baseUrl }: { readonly baseUrl: string }): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : 'an invalid address'
}
