import { join } from 'node:path'
import { pipelineNames } from '../../authoring/starters.ts'
import { listTeamTools, listTools } from '../../authoring/tools.ts'
import { packageRoot } from '../../package-root.ts'
import { type Command, type FlagSpecs, globalFlagSpecs } from '../command.ts'
import type { Flags } from '../command-specs.ts'
import { commandTable } from '../command-table.ts'
import { bashCompletion } from '../completion-bash.ts'
import { zshCompletion } from '../completion-zsh.ts'
import type { CommandIo } from '../io.ts'

/** `baton completion bash|zsh`: prints the script, which is generated from the command table. */
export async function completionCommand(
  { shell }: Pick<Flags<'completion'>, 'shell'>,
  { out }: Pick<CommandIo, 'out'>,
): Promise<number> {
  const model = completionModel(commandTable, pipelineNames(join(packageRoot(), 'pipelines')))
  out(shell === 'bash' ? bashCompletion(model) : zshCompletion(model))
  return 0
}

/**
 * What completes a value: fixed words, a runnable file or an agent, a run of the workspace, a run that waits for
 * approvals, a pending call of the run named before it, a mode, a model, an MCP server, a file, a folder.
 */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | {
      readonly kind:
        | 'targets'
        | 'runs'
        | 'waiting'
        | 'calls'
        | 'modes'
        | 'models'
        | 'servers'
        | 'files'
        | 'folders'
        | 'unknown'
    }

export interface CompletedFlag {
  /** `--model`, `-m`. */
  readonly spellings: readonly string[]
  readonly describe: string
  /** Whether it may be repeated. */
  readonly isList: boolean
  /** Undefined for switches. */
  readonly values: Values | undefined
}

export interface CompletedCommand extends Pick<Command, 'name' | 'summary'> {
  readonly flags: readonly CompletedFlag[]
  readonly words: readonly { readonly name: string; readonly isRepeated: boolean; readonly values: Values }[]
}

/** The data of a completion script. `withValue`: every spelling of a flag that takes a value. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[]
  readonly withValue: readonly string[]
}

/** Turns the command table into that data; `from` completes `baton new --from`. Hidden flags are omitted. */
export function completionModel(table: readonly Command[], from: readonly string[]): CompletionModel {
  const commandNames = table.map(({ name }) => name)
  const commands = table.map(({ name, summary, flags, words }) => {
    const specs: FlagSpecs = { ...flags, ...globalFlagSpecs, help }
    const pipelines = name === 'new' ? from : []
    const shown = Object.entries(specs).filter(([, { hidden }]) => hidden !== true)
    return {
      name,
      summary,
      flags: shown.map(([flag, { kind, short, describe = '', choices }]) => ({
        spellings: [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])],
        describe,
        isList: kind === 'list',
        values:
          kind === 'switch' ? undefined : valuesOf(flag, flag === 'permission' ? toolNames() : choices, pipelines),
      })),
      words: words.map((word) => ({
        name: word.name,
        isRepeated: word.count === 'some' || word.count === 'any',
        values:
          answers.has(name) && word.name === 'run'
            ? waiting
            : name === 'models'
              ? models
              : name === 'mcp' && word.name === 'words'
                ? servers
                : valuesOf(word.name, choicesOf(name, commandNames) ?? word.choices, pipelines),
      })),
    }
  })
  const valued = commands.flatMap(({ flags }) => flags.filter(({ values }) => values !== undefined))
  return { commands, withValue: [...new Set(valued.flatMap(({ spellings }) => spellings))] }
}

/** Suggestions for the first word of commands that also accept other words. */
function choicesOf(command: string, commands: readonly string[]): readonly string[] | undefined {
  if (command === 'help') return commands
  return command === 'list' ? ['tools', 'modes', 'commands', ...toolNames()] : undefined
}

function toolNames(): readonly string[] {
  return [...listTools(), ...listTeamTools()].map(({ name }) => name)
}

/** Commands that take a waiting run. */
const answers: ReadonlySet<string> = new Set(['approve', 'reject'])
const waiting = { kind: 'waiting' } as const
const servers = { kind: 'servers' } as const
const models = { kind: 'models' } as const

const help = { kind: 'switch', short: 'h', describe: 'show help' } as const

const known: { readonly [name: string]: Exclude<Values['kind'], 'words'> } = {
  file: 'targets',
  files: 'targets',
  folder: 'folders',
  chdir: 'folders',
  env: 'files',
  output: 'files',
  'output-schema': 'files',
  record: 'files',
  junit: 'files',
  replay: 'files',
  run: 'runs',
  call: 'calls',
  mode: 'modes',
  model: 'models',
}

function valuesOf(name: string, choices: readonly string[] | undefined, pipelines: readonly string[]): Values {
  if (choices !== undefined) return { kind: 'words', words: choices }
  if (name === 'from' && pipelines.length > 0) return { kind: 'words', words: pipelines }
  return { kind: known[name] ?? 'unknown' }
}
