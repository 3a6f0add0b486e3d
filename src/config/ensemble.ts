import { basename, extname } from 'node:path'
import { defined } from '../base/json.ts'
import type { DefinedCommandLine } from './agent-definitions.ts'
import { usualStdinOver } from './agent-tables.ts'
import { parseDuration } from './duration.ts'

/** How the answers of the members are combined into one. */
export type Aggregate = 'synthesis' | 'vote' | 'first' | 'aggregator'

/** One `[[ensemble.agents]]`. Plain JSON. */
export interface EnsembleMember {
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
export interface Ensemble {
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

/** A `[[ensemble.agents]]` as written, after its types were checked. */
export interface WrittenMember {
  readonly name?: string
  readonly model?: string
  readonly agent?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: { readonly [name: string]: string }
  readonly stdin_over?: number
  readonly preset?: NonNullable<DefinedCommandLine['preset']>
  readonly sandbox?: { readonly mode?: NonNullable<DefinedCommandLine['mode']> }
}

/** `[ensemble]` as written, after its types were checked. */
export interface WrittenEnsemble extends Partial<
  Pick<Ensemble, 'quorum' | 'retries' | 'aggregator' | 'check' | 'isolation' | 'model'>
> {
  readonly timeout?: string
  readonly deadline?: string
  readonly aggregate?: Exclude<Aggregate, 'aggregator'>
  readonly agents?: readonly WrittenMember[]
}

/** How the answers are combined: as written, else as `aggregator` or `check` implies, else by synthesis. */
export function aggregateOf({ aggregate, aggregator, check }: WrittenEnsemble): Aggregate {
  if (aggregator !== undefined) return 'aggregator'
  return aggregate ?? (check === undefined ? 'synthesis' : 'first')
}

/** The ensemble of a checked `ensemble` table. */
export function readEnsemble(value: WrittenEnsemble): Ensemble {
  const { agents = [], aggregator, check, isolation = 'none', model, retries = 0, timeout, deadline } = value
  const names = memberNames(agents)
  const aggregate = aggregateOf(value)
  const usual = aggregate === 'first' ? 1 : Math.min(2, agents.length)
  return {
    members: agents.map((member, index) => readMember(member, { name: names[index] ?? '', index })),
    quorum: value.quorum ?? usual,
    ...defined({
      timeout_ms: timeout === undefined ? undefined : parseDuration(timeout),
      deadline_ms: deadline === undefined ? undefined : parseDuration(deadline),
    }),
    retries,
    aggregate,
    ...defined({ aggregator, check }),
    isolation,
    ...defined({ model }),
  }
}

function readMember(member: WrittenMember, own: Pick<EnsembleMember, 'name' | 'index'>): EnsembleMember {
  const { model, agent, command, preset, args, env, stdin_over, sandbox } = member
  if (command === undefined && preset === undefined) return { ...own, ...defined({ model, agent }) }
  const line: DefinedCommandLine = {
    ...defined({ preset, model, mode: sandbox?.mode }),
    command: command ?? preset ?? '',
    args: args ?? [],
    env: env ?? {},
    stdinOver: stdin_over ?? usualStdinOver,
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
