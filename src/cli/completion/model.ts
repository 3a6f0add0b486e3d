import { type CommandSpec, type FlagSpec, globalFlagSpecs } from '../specs/spec.ts'

/**
 * What may stand at a place: words that are known, files that can be run and agents, runs of the workspace, any file, a
 * folder, or nothing known.
 */
export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'targets' | 'runs' | 'files' | 'folders' | 'unknown' }

export interface CompletedFlag {
  /** `--model`, `-m`. */
  readonly spellings: readonly string[]
  readonly describe: string
  /** Whether it may be given again. */
  readonly isList: boolean
  /** Left out for switches. */
  readonly values?: Values
}

interface CompletedWord {
  readonly name: string
  readonly isRepeated: boolean
  readonly values: Values
}

export interface CompletedCommand {
  readonly name: string
  readonly summary: string
  readonly flags: readonly CompletedFlag[]
  readonly words: readonly CompletedWord[]
}

/** What a completion script knows. The first command is meant when none is named. */
export interface CompletionModel {
  readonly commands: readonly CompletedCommand[]
  /** Every spelling of a flag that takes a value. */
  readonly withValue: readonly string[]
}

/** The command table as completion scripts need it, `from` for `baton new --from`. Hidden flags are left out. */
export function completionModel(table: readonly CommandSpec[], from: readonly string[]): CompletionModel {
  const commands = table.map(({ name, summary, flags, words }): CompletedCommand => {
    const pipelines = name === 'new' ? from : []
    const shown = Object.entries({ ...flags, ...globalFlagSpecs }).filter(([, { hidden }]) => hidden !== true)
    return {
      name,
      summary,
      flags: [...shown.map(([flag, spec]) => completedFlag(flag, spec, pipelines)), help],
      words: words.map((word) => ({
        name: word.name,
        isRepeated: word.count === 'some' || word.count === 'any',
        values: valuesOf(word.name, word.choices, pipelines),
      })),
    }
  })
  const withValue = commands.flatMap(({ flags }) =>
    flags.flatMap(({ values, spellings }) => (values === undefined ? [] : spellings)),
  )
  return { commands, withValue: [...new Set(withValue)] }
}

const help: CompletedFlag = { spellings: ['--help', '-h'], describe: 'explain the command', isList: false }

function completedFlag(name: string, spec: FlagSpec, pipelines: readonly string[]): CompletedFlag {
  const { kind, short, describe = '', choices } = spec
  return {
    spellings: [`--${name}`, ...(short === undefined ? [] : [`-${short}`])],
    describe,
    isList: kind === 'list',
    ...(kind === 'switch' ? {} : { values: valuesOf(name, choices, pipelines) }),
  }
}

/** Flags and words whose name says what they take. */
const known: { readonly [name: string]: Exclude<Values['kind'], 'words'> } = {
  file: 'targets',
  files: 'targets',
  folder: 'folders',
  chdir: 'folders',
  'env-file': 'files',
  output: 'files',
  'output-schema': 'files',
  record: 'files',
  replay: 'files',
  run: 'runs',
}

function valuesOf(name: string, choices: readonly string[] | undefined, pipelines: readonly string[]): Values {
  if (choices !== undefined) return { kind: 'words', words: choices }
  if (name === 'from' && pipelines.length > 0) return { kind: 'words', words: pipelines }
  return { kind: known[name] ?? 'unknown' }
}
