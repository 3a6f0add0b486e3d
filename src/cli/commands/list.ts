import { join } from 'node:path'
import { type Group, type Item, takeInventory } from '../../authoring/inventory.ts'
import { isBatonError, messageOf } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { findWorkspace } from '../../config/locate.ts'
import type { PackStatus } from '../../pack/pack-status.ts'
import { packRoots } from '../../pack/find-pack.ts'
import { packageRoot } from '../../package-root.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { cutEnd } from '../../base/width.ts'
import type { Flags } from '../command-specs.ts'
import { createPaint } from '../../render/style.ts'
import { type CommandIo, jsonLine, openWorkplace, surroundings, type Workplace } from '../io.ts'
import { describeReported } from '../report.ts'
import { compareBytes } from '../../base/byte-order.ts'
import { type ListedTool, listTeamTools, listTools } from '../../authoring/tools.ts'
import type { ConfigOptions } from '../../config/target-config.ts'
import type { AgentDefinition } from '../../config/agent-definitions.ts'
import type { ChatCommand } from '../../config/chat-commands.ts'
import { issuesToError } from '../../settings/issue.ts'
import { chatCommandsHere } from '../../pack/chat-commands.ts'
import { definitionsHere } from '../../pack/definitions.ts'
import { builtInModes, pluginsHere } from '../../load/plugins-here.ts'
import { builtinCommands } from '../chat/slash/builtin.ts'

/**
 * `baton list [WORD]`: everything that can be run or named here, the tools for models, the modes and the chat commands,
 * one line each.
 */
export async function listCommand(flags: Flags<'list'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, paint, width } = openWorkplace(flags, io)
  const workspace = findWorkspace({ cwd, env, home })
  const root = packageRoot()
  const all = await takeInventory({
    workspace,
    packRoots: packRoots(workspace, { env, home }),
    builtInDir: join(root, 'agents'),
    pipelinesDir: join(root, 'pipelines'),
    isBare: flags.names,
  })
  const isBare = flags.names && groupWords[flags.word ?? ''] === undefined
  const offered = isBare ? [await namedHere(flags, io)] : await offeredHere(flags, io)
  const groups = withWord([...all, ...offered], flags.word)
  if (flags.json) {
    for (const record of groups.flatMap(recordsOf)) io.out(jsonLine(record))
  } else if (flags.names) {
    for (const name of plainNames(groups, flags.word)) io.out(`${name}\n`)
  } else {
    io.out(describe(groups, { paint, width, show: (path) => shortPath(path, { workspace, home }) }))
  }
  if (groups.length === 0 && flags.word !== undefined && flags.level !== 'quiet') {
    io.err(`no name or description contains "${harmlessName(flags.word ?? '')}"\n`)
  }
  return 0
}

/** Tools, modes and commands. An entry that cannot be listed is a warning, so that the others are still listed. */
async function offeredHere(flags: Flags<'list'>, io: CommandIo): Promise<readonly OfferedGroup[]> {
  return takeOffered(configHere(flags, io), warn(flags, io))
}

/** Names for completion, without warnings. */
async function namedHere(flags: Flags<'list'>, io: CommandIo): Promise<OfferedGroup> {
  return agentsNamed(configHere(flags, io), () => {})
}

function configHere(flags: Flags<'list'>, io: CommandIo) {
  const { cwd, env, home } = surroundings(flags, io)
  const builtInDir = join(packageRoot(), 'agents')
  return { cwd, env: { ...env }, home, builtInDir, flags: { overrides: flags.config } }
}

function warn(flags: Flags<'list'>, io: CommandIo): (error: unknown) => void {
  const { cwd } = surroundings(flags, io)
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const said = new Set<string>()
  return (error) => {
    if (flags.level === 'quiet' || said.has(messageOf(error))) return
    said.add(messageOf(error))
    const { place, hint } = isBatonError(error) ? error : {}
    io.err(describeReported({ severity: 'warning', message: messageOf(error), place, hint }, { cwd, paint }))
  }
}

type Listed = Group | OfferedGroup

function isOffered(group: Listed): group is OfferedGroup {
  return group.kind === 'tool' || group.kind === 'mode' || group.kind === 'named' || group.kind === 'command'
}

/** Words that name a group. */
const groupWords: { readonly [word: string]: OfferedGroup['kind'] } = {
  tools: 'tool',
  modes: 'mode',
  agents: 'named',
  commands: 'command',
}

function withWord(groups: readonly Listed[], word: string | undefined): readonly Listed[] {
  if (word === undefined) return groups
  if (groupWords[word] !== undefined) return groups.filter(({ kind }) => kind === groupWords[word])
  const wanted = word.toLowerCase()
  const fits = ({ name, description }: Pick<Item, 'name' | 'description'>): boolean =>
    `${name}\n${description}`.toLowerCase().includes(wanted)
  const found = groups.map((group): Listed =>
    isOffered(group) ? { ...group, items: group.items.filter(fits) } : { ...group, items: group.items.filter(fits) },
  )
  return found.filter(({ items }) => items.length > 0)
}

/** Names that need no quoting in a shell and are not flags. Others are not completed. */
const plainName = /^[\p{L}\p{N}_@./][\p{L}\p{N}_@./+-]*$/u

/** Names for files and command lines: of agents, or of the group that the word names. */
function plainNames(groups: readonly Listed[], word: string | undefined): readonly string[] {
  const kind = groupWords[word ?? '']
  const names = groups.flatMap((group) => {
    if (isOffered(group)) return group.kind === (kind ?? 'named') ? group.items.map(({ name }) => name) : []
    if (group.kind === 'pipeline') return []
    return group.items.filter(({ shadowedBy }) => shadowedBy === undefined).map(({ name }) => name)
  })
  return names.filter((name) => plainName.test(name))
}

function recordsOf(group: Listed): readonly object[] {
  return isOffered(group) ? group.items.map(({ record }) => record) : group.items.map((item) => recordOf(group, item))
}

function recordOf({ kind, pack, status }: Group, { name, description, file, shadowedBy }: Item): object {
  return {
    kind: kind === 'pipeline' ? 'pipeline' : 'agent',
    name,
    description,
    source: kind === 'pipeline' ? 'built-in' : kind,
    pack,
    version: status?.version,
    installed_from: status?.source,
    commit: status?.commit,
    changed: status?.integrity === 'changed' ? true : undefined,
    file,
    shadowed_by: shadowedBy,
  }
}

interface Drawing extends Pick<Workplace, 'paint' | 'width'> {
  readonly show: (path: string) => string
}

function describe(groups: readonly Listed[], drawing: Drawing): string {
  const names = groups.flatMap(({ items }) => items.map(({ name }) => name.length))
  const column = Math.min(32, Math.max(0, ...names))
  return groups.map((group) => describeGroup(group, column, drawing)).join('\n')
}

const titles = {
  named: 'named agents (for sub_agents, for agent, and for models to start)',
  tool: 'tools of models (tools = ["NAME"] in a prompt file)',
  mode: 'modes of messages (mode = "NAME" in a prompt file, or --mode NAME)',
  command: 'chat commands (/NAME)',
} as const

function describeGroup(group: Listed, column: number, { paint, width, show }: Drawing): string {
  if (isOffered(group)) {
    const lines = group.items.map(({ name, description }) =>
      cutEnd(`  ${harmlessName(name).padEnd(column)}  ${harmlessName(description)}`, width),
    )
    return `${paint('bold', titles[group.kind])}\n${lines.map((line) => `${line}\n`).join('')}`
  }
  const isShadowed =
    group.kind === 'pack' && group.items.length > 0 && group.items.every(({ shadowedBy }) => shadowedBy !== undefined)
  const lines = group.items.map(({ name, description, shadowedBy }) => {
    const note = shadowedBy === undefined || isShadowed ? '' : ` (shadowed by ${show(shadowedBy)})`
    const line = cutEnd(`  ${harmlessName(name).padEnd(column)}  ${harmlessName(description)}${note}`.trimEnd(), width)
    return shadowedBy === undefined ? line : paint('dim', line)
  })
  const title = cutEnd(titleOf(group, { isShadowed, show }), width)
  return `${paint(isShadowed ? 'dim' : 'bold', title)}\n${lines.map((line) => `${line}\n`).join('')}`
}

function titleOf(
  { kind, pack = '', folder, items, status }: Group,
  { isShadowed, show }: { readonly isShadowed: boolean; readonly show: Drawing['show'] },
): string {
  switch (kind) {
    case 'workspace':
      return `agents of this project (${show(folder)})`
    case 'built-in':
      return 'agents of Baton'
    case 'pack': {
      const first = isShadowed ? items[0]?.shadowedBy : undefined
      const note = first === undefined ? '' : `, shadowed by ${show(first)}`
      return `pack ${pack}${statusText(status)} (${show(folder)}${fromText(status)}${note})`
    }
    case 'pipeline':
      return 'pipelines (baton new prompt NAME --from PIPELINE)'
  }
}

function statusText(status: PackStatus | undefined): string {
  if (status?.version === undefined) return ''
  return ` ${harmlessName(status.version)}${status.integrity === 'changed' ? ', changed since it was installed' : ''}`
}

function fromText(status: PackStatus | undefined): string {
  if (status?.source === undefined) return ''
  const commit = status.commit === undefined ? '' : ` at ${status.commit.slice(0, 9)}`
  return `, from ${harmlessName(status.source)}${harmlessName(commit)}`
}

function shortPath(path: string, { workspace, home }: { readonly workspace: string; readonly home: string }): string {
  const shown = displayPath(workspace, path)
  return harmlessName(shown === path && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : shown)
}

/** A tool, a mode, an agent or a chat command, as `baton list` shows it. */
interface OfferedItem {
  readonly name: string
  /** One line, for people. */
  readonly description: string
  /** The output of `--json`. */
  readonly record: object
}

/**
 * Tools, modes and named agents, which prompt files refer to in `tools`, in `mode` and wherever they name an agent; and
 * the commands of a chat.
 */
export interface OfferedGroup {
  readonly kind: 'tool' | 'mode' | 'named' | 'command'
  readonly items: readonly OfferedItem[]
}

/**
 * Lists the tools and modes of Baton and of the plug-ins that the config names, named agents, and chat commands. A
 * plug-in, config or file that cannot be used is reported to `onProblem`, and the others are still listed.
 */
export async function takeOffered(
  options: ConfigOptions & { readonly builtInDir: string },
  onProblem: (error: unknown) => void,
): Promise<readonly OfferedGroup[]> {
  const modes = new Map(builtInModes().map(({ id, name }) => [id, modeItem(id, name)]))
  const tools = [...listTools(), ...listTeamTools()].map(toolItem)
  for (const { id, modes: brought, tools: more } of await pluginsHere(options, onProblem)) {
    // replaces a mode with the same id, as in a run
    for (const mode of brought) modes.set(mode.id, modeItem(mode.id, mode.name, { plugin: id }))
    tools.push(
      ...more.map(({ name, description }) =>
        toolItem({ name, summary: description, permission: 'ask', writes: false, plugin: id }),
      ),
    )
  }
  return [
    await agentsNamed(options, onProblem),
    { kind: 'tool', items: tools },
    { kind: 'mode', items: [...modes.values()] },
    await takeCommands(options, onProblem),
  ]
}

/** The built-in commands in the order of `/help`, then those of files. */
async function takeCommands(options: ConfigOptions, onProblem: (error: unknown) => void): Promise<OfferedGroup> {
  const { byName, warnings } = await chatCommandsHere(options, Object.keys(builtinCommands))
  for (const warning of warnings) onProblem(issuesToError([warning]))
  const ofFiles = [...byName.values()].toSorted((left, right) => compareBytes(left.name, right.name))
  return {
    kind: 'command',
    items: [
      ...Object.entries(builtinCommands).map(([name, { hint, summary }]) =>
        commandItem({ name, description: summary, argumentHint: hint, from: 'built-in' }),
      ),
      ...ofFiles.map(commandItem),
    ],
  }
}

/** The named agents, each with where it is defined. */
export async function agentsNamed(
  options: ConfigOptions & { readonly builtInDir: string },
  onProblem: (error: unknown) => void,
): Promise<OfferedGroup> {
  const definitions = await definitionsHere(options, onProblem)
  return { kind: 'named', items: definitions.map(namedItem) }
}

function namedItem({ name, description = '', origin, from, agent }: AgentDefinition): OfferedItem {
  const what = agent.kind === 'command' ? `${agent.line.command}, ${origin}` : origin
  return {
    name,
    description: `${description}${description === '' ? '' : ' '}(${what})`,
    record: {
      kind: 'agent',
      name,
      description,
      source: from,
      defined: origin,
      runs: agent.kind === 'command' ? agent.line.command : 'model',
      ...(from === 'built-in' ? {} : { file: agent.file }),
    },
  }
}

type ListedCommand = Pick<ChatCommand, 'name' | 'description' | 'argumentHint'> &
  (Pick<ChatCommand, 'from' | 'file' | 'shown'> | { readonly from: 'built-in' })

function commandItem(command: ListedCommand): OfferedItem {
  const { name, description, argumentHint, from } = command
  const notes = [argumentHint, description, from === 'built-in' ? '' : `(${command.shown})`]
  return {
    name,
    description: notes.filter((note) => note !== '').join(' '),
    record: {
      kind: 'command',
      name,
      description,
      arguments: argumentHint,
      source: from,
      ...(from === 'built-in' ? {} : { file: command.file }),
    },
  }
}

function modeItem(id: string, name: string, from: { readonly plugin?: string } = {}): OfferedItem {
  const description = from.plugin === undefined ? name : `${name} (plug-in ${from.plugin})`
  return { name: id, description, record: { kind: 'mode', name: id, description: name, ...from } }
}

function toolItem(tool: ListedTool & { readonly plugin?: string }): OfferedItem {
  const { name, summary, ...facts } = tool
  const { permission, writes, plugin, with: table } = facts
  const notes = [
    permission,
    ...(writes ? ['with write_mode'] : []),
    ...(table === undefined ? [] : [`with [${table}]`]),
    ...(plugin === undefined ? [] : [`plug-in ${plugin}`]),
  ]
  return {
    name,
    description: `${summary} (${notes.join(', ')})`,
    record: { kind: 'tool', name, description: summary, ...facts },
  }
}
