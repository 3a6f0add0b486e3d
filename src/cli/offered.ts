import { compareBytes } from '../base/byte-order.ts'
import { type ListedTool, listTeamTools, listTools } from '../authoring/tools.ts'
import type { ConfigOptions } from '../config/target-config.ts'
import type { AgentDefinition } from '../config/agent-definitions.ts'
import type { ChatCommand } from '../config/chat-commands.ts'
import { issuesToError } from '../config/issue.ts'
import { chatCommandsHere } from '../pack/chat-commands.ts'
import { definitionsHere } from '../pack/definitions.ts'
import { builtInModes, pluginsHere } from '../load/plugins-here.ts'
import { builtinCommands } from './chat/slash/builtin.ts'

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
    await takeNamed(options, onProblem),
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
export async function takeNamed(
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
