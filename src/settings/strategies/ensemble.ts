import { basename, extname } from 'node:path'
import type { DataPath } from '../../base/data-text.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { commandKeyRows, type DefinedCommandLine, defaultStdinOver } from '../agents.ts'
import { type Finding, wrongKey, wrongValue } from '../issue.ts'
import { checkRetries, type Retries, retryRows } from '../retries.ts'
import { type SettingRow, strategyOnly, type TableOf } from '../setting.ts'
import { parseDuration } from '../../base/duration.ts'

export const ensemble = {
  ...strategyOnly,
  text: 'Several agents answer each task, and their answers are combined.',
  strategy: { agents: ['members', 'a member'], readsParams: true, read: readEnsemble },
  check: checkEnsemble,
  keys: {
    quorum: {
      schema: ({ integer }) => integer(1),
      text: 'How many members must answer. Default: 2, and 1 with aggregate = "first".',
    },
    timeout: { schema: ({ timeLimit }) => timeLimit, text: 'Time limit of each member, such as "5m".' },
    deadline: {
      schema: ({ timeLimit }) => timeLimit,
      text: 'Time limit for all members together: a member that has not answered by then counts as missing.',
    },
    ...retryRows,
    aggregate: {
      schema: ({ oneOf }) => oneOf('synthesis', 'vote', 'first'),
      text: 'How the answers are combined: a model synthesizes them, the most frequent one is used, or the first one.',
    },
    aggregator: { schema: ({ name }) => name, text: 'An agent that combines all answers into one.' },
    check: { schema: ({ name }) => name, text: 'A command for sh: the answer of the first member to pass it is used.' },
    isolation: { schema: ({ isolation }) => isolation, text: 'worktree: each member works in its own git worktree.' },
    model: { schema: ({ name }) => name, text: 'The model of the synthesis. Default: the model of the file.' },
    agents: {
      text: 'The members. All get the same request at the same time.',
      each: { list: 'a list of tables, written [[ensemble.agents]]' },
      keys: {
        name: { schema: ({ name }) => name, text: 'Its name. Default: derived from what it runs.' },
        model: { schema: ({ name }) => name, text: 'The model that answers, or the model of its agent or program.' },
        agent: { schema: ({ name }) => name, text: 'An agent that answers: a name, a file, or namespace@pack/agent.' },
        command: {
          schema: ({ name }) => name,
          text: 'A program that answers: a name on PATH, or a path relative to the workspace.',
        },
        ...retryRows,
        ...commandKeyRows,
        preset: {
          schema: ({ preset }) => preset,
          text: 'A program that answers, one whose flags and output are known.',
        },
        sandbox: {
          text: 'What its program may do: an unknown one needs danger-full-access.',
          keys: {
            mode: {
              schema: ({ sandboxMode }) => sandboxMode,
              text: 'danger-full-access: an unknown program runs with all of your rights; otherwise it is not started.',
            },
          },
        },
      },
    },
  },
} as const satisfies SettingRow

/** How the answers of the members are combined into one. */
type Aggregate = 'synthesis' | 'vote' | 'first' | 'aggregator'

/** One `[[ensemble.agents]]`. Plain JSON. */
export interface EnsembleMember extends Retries {
  /** Unique in its ensemble. */
  readonly name: string
  /** From 0. Located at the path `['ensemble', 'agents', index]`. */
  readonly index: number
  /** The model that answers, or the model of its agent or command line. */
  readonly model?: string
  /** The name of an agent that answers instead of a model. */
  readonly agent?: string
  /** A program that answers instead of a model. */
  readonly line?: DefinedCommandLine
}

/** `[ensemble]`, with its defaults. Plain JSON. */
export interface Ensemble extends Retries {
  /** As written. */
  readonly members: readonly EnsembleMember[]
  /** The number of answers required. */
  readonly quorum: number
  /** For each member; default: no limit. */
  readonly timeout_ms?: number
  /** For all members together; default: no limit. */
  readonly deadline_ms?: number
  /** How often a failed member is retried. */
  readonly retries: number
  readonly aggregate: Aggregate
  /** The agent that combines all answers into one. */
  readonly aggregator?: string
  /** A command for `sh`: the answer of the first member to pass it is used. */
  readonly check?: string
  readonly isolation: 'none' | 'worktree'
  /** The model of the synthesis; default: the model of the file. */
  readonly model?: string
}

/** `[ensemble]` as written, after its types were checked. */
type WrittenEnsemble = TableOf<typeof ensemble>
/** The same of a `[[ensemble.agents]]`. */
type WrittenMember = TableOf<typeof ensemble.keys.agents>

/** How the answers are combined: as written, else as `aggregator` or `check` implies, else by synthesis. */
function aggregateOf({ aggregate, aggregator, check }: WrittenEnsemble): Aggregate {
  if (aggregator !== undefined) return 'aggregator'
  return aggregate ?? (check === undefined ? 'synthesis' : 'first')
}

/** The ensemble of a checked `ensemble` table. */
export function readEnsemble(table: JsonObject): Ensemble {
  const value = table as WrittenEnsemble
  const { agents = [], aggregator, check, isolation = 'none', model, retries = 0, retry_on, timeout, deadline } = value
  const names = memberNames(agents)
  const aggregate = aggregateOf(value)
  const defaultValues = aggregate === 'first' ? 1 : Math.min(2, agents.length)
  return {
    members: agents.map((member, index) => readMember(member, { name: names[index] ?? '', index })),
    quorum: value.quorum ?? defaultValues,
    ...defined({
      timeout_ms: timeout === undefined ? undefined : parseDuration(timeout),
      deadline_ms: deadline === undefined ? undefined : parseDuration(deadline),
    }),
    retries,
    ...defined({ retry_on }),
    aggregate,
    ...defined({ aggregator, check }),
    isolation,
    ...defined({ model }),
  }
}

function readMember(member: WrittenMember, named: Pick<EnsembleMember, 'name' | 'index'>): EnsembleMember {
  const { model, agent, command, preset, args, env, stdin_over, sandbox, retries, retry_on } = member
  const own = { ...named, ...defined({ retries, retry_on }) }
  if (command === undefined && preset === undefined) return { ...own, ...defined({ model, agent }) }
  const line: DefinedCommandLine = {
    ...defined({ preset, model, mode: sandbox?.mode }),
    command: command ?? preset ?? '',
    args: args ?? [],
    env: env ?? {},
    stdinOver: stdin_over ?? defaultStdinOver,
  }
  return { ...own, ...defined({ model }), line }
}

/** The name of each member: as written, else derived from what it runs, with a number if that is taken. */
export function memberNames(agents: readonly WrittenMember[]): readonly string[] {
  const taken = new Set(agents.flatMap(({ name }) => name ?? []))
  return agents.map((member) => {
    if (member.name !== undefined) return member.name
    const base = madeName(member)
    let name = base
    for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`
    taken.add(name)
    return name
  })
}

/** `openai::gpt-5` becomes `gpt-5`, `agents/review.md` becomes `review`. */
function madeName({ agent, command, preset, model = '' }: WrittenMember): string {
  const file = agent ?? command ?? preset
  if (file !== undefined) return basename(file, extname(file))
  return model.slice(model.lastIndexOf(':') + 1)
}

/** Inconsistencies in a checked `ensemble` table. Conflicts with other keys of the file are checked elsewhere. */
export function checkEnsemble(value: JsonObject): readonly Finding[] {
  const written = value as WrittenEnsemble
  const { agents = [] } = written
  if (agents.length === 0) {
    const hint = 'Add [[ensemble.agents]] with a model, an agent or a command.'
    return [wrongKey(['ensemble'], { message: '"ensemble" has no agents', hint })]
  }
  return [
    ...agents.flatMap(checkMember),
    ...agents.flatMap((member, index) =>
      checkRetries({ retries: written.retries, ...member }, at(index), shownMember(member, index)),
    ),
    // members may have their own number
    ...(agents.some(({ retries = 0 }) => retries > 0) ? [] : checkRetries(written, ['ensemble'], '"ensemble"')),
    ...checkNames(agents),
    ...checkQuorum(written),
    ...checkAggregate(written),
  ]
}

function at(index: number, ...key: readonly string[]): DataPath {
  return ['ensemble', 'agents', index, ...key]
}

function shownMember({ name }: WrittenMember, index: number): string {
  return name === undefined ? `member ${index + 1} of the ensemble` : `ensemble member "${name}"`
}

function checkMember(member: WrittenMember, index: number): readonly Finding[] {
  const { model, agent, command, preset } = member
  const shown = shownMember(member, index)
  const isProgram = command !== undefined || preset !== undefined
  if (model === undefined && agent === undefined && !isProgram) {
    const hint = 'Add one of them.'
    return [wrongKey(at(index), { message: `${shown} has no model, agent, command or preset`, hint })]
  }
  if (agent !== undefined && isProgram) {
    const key = command === undefined ? 'preset' : 'command'
    return [wrongKey(at(index, key), { message: `${shown} has both agent and ${key}`, hint: 'Keep one of them.' })]
  }
  if (isProgram) return []
  return (['args', 'env', 'stdin_over', 'sandbox'] as const)
    .filter((key) => member[key] !== undefined)
    .map((key) => {
      const message = `"${key}" of ${shown} is for a command line, but none is named`
      return wrongKey(at(index, key), { message, hint: `Set command to the program, or remove ${key}.` })
    })
}

function checkNames(agents: readonly WrittenMember[]): readonly Finding[] {
  const names = agents.map(({ name }) => name)
  return names.flatMap((name, index) => {
    if (name === undefined || names.indexOf(name) === index) return []
    return [wrongValue(at(index, 'name'), { message: `two ensemble members are named "${name}"`, hint: 'Rename one.' })]
  })
}

function checkQuorum({ quorum, agents = [], ...others }: WrittenEnsemble): readonly Finding[] {
  if (quorum === undefined) return []
  if (aggregateOf(others) === 'first') {
    const message = '"ensemble.quorum" has no effect if the first answer is used'
    return [wrongKey(['ensemble', 'quorum'], { message, hint: 'Remove it.' })]
  }
  if (quorum <= agents.length) return []
  const message = `"ensemble.quorum" is ${quorum}, but there ${agents.length === 1 ? 'is only 1 member' : `are only ${agents.length} members`}`
  return [wrongValue(['ensemble', 'quorum'], { message, hint: `Write ${agents.length} or less, or add members.` })]
}

/** The keys that each kind of aggregation ignores. */
const unused: { readonly [kind in Aggregate]: readonly ('aggregator' | 'check' | 'model')[] } = {
  synthesis: ['check'],
  vote: ['check', 'model'],
  first: ['model'],
  aggregator: ['check', 'model'],
}

function checkAggregate(written: WrittenEnsemble): readonly Finding[] {
  const { aggregate, aggregator } = written
  const kind = aggregateOf(written)
  if (aggregate !== undefined && aggregator !== undefined) {
    const message = `"ensemble.aggregate" and "ensemble.aggregator" cannot be combined`
    return [
      wrongKey(['ensemble', 'aggregator'], { message, hint: 'Keep one: both define how the answers are combined.' }),
    ]
  }
  const why = aggregator === undefined ? `aggregate = "${kind}"` : 'an aggregator'
  return unused[kind]
    .filter((key) => written[key] !== undefined)
    .map((key) => {
      const message = `"ensemble.${key}" has no effect with ${why}`
      return wrongKey(['ensemble', key], { message, hint: 'Remove one of the two.' })
    })
}
