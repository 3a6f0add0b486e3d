import { type ListedTool, listTools } from '../authoring/tools.ts'
import { knownModes } from '../agent/modes/known.ts'
import { loadPlugins } from '../agent/plugins/load.ts'
import { noPlugins, type Plugins } from '../agent/plugins/plugin.ts'
import { type ConfigOptions, loadTargetConfig } from '../config/target-config.ts'

/** A tool or a mode, as `baton list` names it. */
export interface OfferedItem {
  readonly name: string
  /** In one line, for people. */
  readonly description: string
  /** What `--json` says of it. */
  readonly record: object
}

/** What models are given, and how they are asked: what prompt files name in `tools` and in `mode`. */
export interface OfferedGroup {
  readonly kind: 'tool' | 'mode'
  readonly items: readonly OfferedItem[]
}

/**
 * The tools and modes of Baton, and those of plug-ins that the config names. A plug-in, or a config, that cannot be used is
 * given to `onProblem`, and the others are listed all the same.
 */
export async function takeOffered(
  options: ConfigOptions,
  onProblem: (error: unknown) => void,
): Promise<readonly OfferedGroup[]> {
  const builtIn = knownModes().list()
  const modes = new Map(builtIn.map(({ id, name }) => [id, modeItem(id, name)]))
  const tools = listTools().map(toolItem)
  for (const { id, modes: brought, tools: more } of await pluginsHere(options, onProblem)) {
    // one that is known is replaced, as in a run
    for (const mode of brought) modes.set(mode.id, modeItem(mode.id, mode.name, { plugin: id }))
    tools.push(
      ...more.map(({ name, description }) =>
        toolItem({ name, summary: description, permission: 'ask', writes: false, plugin: id }),
      ),
    )
  }
  return [
    { kind: 'tool', items: tools },
    { kind: 'mode', items: [...modes.values()] },
  ]
}

type Brought = Pick<Plugins, 'modes' | 'tools'> & { readonly id: string }

async function pluginsHere(options: ConfigOptions, onProblem: (error: unknown) => void): Promise<readonly Brought[]> {
  const files = await orProblem([], onProblem, async () => (await loadTargetConfig(options)).settings.plugins ?? [])
  const brought: Brought[] = []
  for (const file of files) {
    const { ids, modes, tools } = await orProblem(noPlugins, onProblem, () => loadPlugins([file]))
    brought.push(...ids.map((id) => ({ id, modes, tools })))
  }
  return brought
}

async function orProblem<T>(usual: T, onProblem: (error: unknown) => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    onProblem(error)
    return usual
  }
}

function modeItem(id: string, name: string, from: { readonly plugin?: string } = {}): OfferedItem {
  const description = from.plugin === undefined ? name : `${name} (plug-in ${from.plugin})`
  return { name: id, description, record: { kind: 'mode', name: id, description: name, ...from } }
}

function toolItem(tool: Omit<ListedTool, 'name'> & { readonly name: string; readonly plugin?: string }): OfferedItem {
  const { name, summary, ...facts } = tool
  const { permission, writes, plugin } = facts
  const notes = [
    permission,
    ...(writes ? ['with write_mode'] : []),
    ...(plugin === undefined ? [] : [`plug-in ${plugin}`]),
  ]
  return {
    name,
    description: `${summary} (${notes.join(', ')})`,
    record: { kind: 'tool', name, description: summary, ...facts },
  }
}
