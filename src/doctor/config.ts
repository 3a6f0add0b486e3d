import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { displayPath } from '../base/files.ts'
import type { UnusedServers } from '../config/unused-servers.ts'
import type { SourcedValue } from '../config/layers.ts'
import {
  aipackConfigFiles,
  foreignMarks,
  type LocatedWorkspace,
  locateWorkspace,
  userConfigFile,
  workspaceConfigFile,
} from '../config/locate.ts'
import { defaultLayer, type Settings, settingsOf } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { listPacks, packRoots } from '../pack/find-pack.ts'
import { defaultMerge } from '../pack/pack-manifest.ts'
import { unusedCores, unusedCoreText } from '../pack/pack-ref.ts'
import { findProgram, isProgram } from '../base/program.ts'
import { definitionsHere } from '../pack/definitions.ts'
import { type Check, checksOf, note, ok, type DoctorInput, warn } from './check.ts'

export interface ConfigFound {
  readonly checks: readonly Check[]
  /** Absolute, links resolved. */
  readonly workspace: string
  /** The defaults if the config is invalid. */
  readonly settings: Settings
  readonly origins: readonly SourcedValue[]
  /** MCP servers that are not used because their file is not trusted. */
  readonly leftOut: readonly UnusedServers[]
  readonly isValid: boolean
}

export async function checkConfig(input: DoctorInput): Promise<ConfigFound> {
  const located = locateWorkspace(input)
  const { workspace } = located
  const found = checkWorkspace(located)
  try {
    const { overrides, ...around } = input
    const { settings, origins, leftOut } = await loadTargetConfig({ ...around, flags: { overrides } })
    return { checks: [...found, checkFiles(workspace, input)], workspace, settings, origins, leftOut, isValid: true }
  } catch (error) {
    const settings = settingsOf(defaultLayer.values, { workspace })
    return {
      checks: [...found, ...checksOf('config', error)],
      workspace,
      settings,
      origins: [],
      leftOut: [],
      isValid: false,
    }
  }
}

function checkWorkspace(located: LocatedWorkspace): readonly Check[] {
  const { workspace, mark, passed } = located
  const hint = 'baton init creates baton.toml, which makes a folder a workspace.'
  const found =
    mark === undefined
      ? note('workspace', 'none: the current folder is used', hint)
      : ok('workspace', `${workspace}, because of ${mark}`)
  const empty = passed.filter(({ state }) => state.kind === 'no repository')
  return [
    found,
    ...foreignMarks(located).map((text) => warn('workspace', text, foreignHint)),
    ...empty.map(({ path }) => warn('workspace', `${path} is not a repository, so it does not count`, 'Remove it.')),
  ]
}

const foreignHint = 'Start there (-C), or create a file of your own that makes a folder the workspace: baton init.'

function checkFiles(workspace: string, input: DoctorInput): Check {
  const own = userConfigFile(input)
  const aipack = aipackConfigFiles(workspace, input).map(({ path }) => path)
  const files = [...aipack, own, workspaceConfigFile(workspace) ?? ''].filter((file) => existsSync(file))
  if (files.length === 0) return note('config', `no file; yours would be ${own}`)
  return ok('config', files.map((file) => displayPath(workspace, file)).join(', '))
}

/** Named agents: their errors, and the programs of those that are command lines. */
export async function checkAgents(input: DoctorInput, workspace: string): Promise<readonly Check[]> {
  const { overrides, root, ...around } = input
  const builtInDir = join(root, 'agents')
  const wrong: Check[] = []
  const found = await definitionsHere({ ...around, builtInDir, flags: { overrides } }, (error) => {
    wrong.push(...checksOf('agents', error, 'warn'))
  })
  const programs = found.flatMap(({ name, agent, from }) => {
    if (agent.kind !== 'command') return []
    const check = checkProgram(name, agent.line.command, { env: input.env, workspace })
    // most people have only some of the programs that Baton knows
    return from === 'built-in' && check.status !== 'ok' ? [] : [check]
  })
  return [...wrong, ...programs]
}

function checkProgram(
  name: string,
  command: string,
  { env, workspace }: Pick<DoctorInput, 'env'> & { readonly workspace: string },
): Check {
  const isPath = command.includes('/')
  const program = isPath ? resolve(workspace, command) : findProgram(command, env, workspace)
  if (program !== undefined && isProgram(program)) return ok('agents', `${name} runs ${program}`)
  const where = isPath ? `the program ${command} does not exist` : `${command} is not on PATH`
  return warn(
    'agents',
    `${name} cannot be run: ${where}`,
    `Install ${command}, or correct command of [agents.${name}].`,
  )
}

/** The packs that can be named here, and errors in their manifests. */
export async function checkPacks(input: DoctorInput, workspace: string): Promise<readonly Check[]> {
  const roots = packRoots(workspace, input)
  const packs = listPacks({ packRoots: roots, builtInDir: join(input.root, 'agents') })
  const broken = packs.map((pack) =>
    defaultMerge({ pack: { ...pack, ref: pack.identity }, builtIn: false }).then(
      () => [],
      (error: unknown) => checksOf('packs', error, 'warn'),
    ),
  )
  return [
    ok('packs', packs.map(({ identity }) => identity).join(', ')),
    ...unusedCores(roots).map((dir) => warn('packs', unusedCoreText(dir), 'Remove it.')),
    ...(await Promise.all(broken)).flat(),
  ]
}
