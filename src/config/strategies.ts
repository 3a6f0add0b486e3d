import { isJsonObject, type JsonObject } from '../base/json.ts'
import { readDelegate } from './delegate.ts'
import { readEnsemble, type WrittenEnsemble } from './ensemble.ts'
import { type Finding, wrongKey } from './issue.ts'
import { readWorkflow } from './workflow.ts'

interface StrategyRow {
  /** What has agents in its table: plural and singular. */
  readonly agents: readonly [string, string]
  /** Reads its checked table. */
  readonly read: (table: JsonObject) => object
  /** Its agents read the parameters of the file. */
  readonly readsParams?: true
}

/** The strategies: tables of the front matter by which several agents answer a task. */
const rows = {
  workflow: { agents: ['steps', 'a step'], read: readWorkflow, readsParams: true },
  ensemble: {
    agents: ['members', 'a member'],
    read: (table) => readEnsemble(table as unknown as WrittenEnsemble),
    readsParams: true,
  },
  delegate: { agents: ['workers', 'a worker'], read: readDelegate },
} as const satisfies { readonly [key: string]: StrategyRow }

/** The strategies by which several agents answer one task. */
export type AnsweringKey = keyof typeof rows

/** The tables of a prompt file that say how it is worked on, other than by one call of a model. A file has only one. */
export type StrategyKey = 'iterate' | AnsweringKey

/** What the tables of the strategies say. */
export type StrategyTables = { readonly [Key in AnsweringKey]: ReturnType<(typeof rows)[Key]['read']> }

export const strategyKeys = Object.keys(rows) as readonly AnsweringKey[]

/** The strategies whose agents read the parameters of the file. */
export const readersOfParams: readonly string[] = Object.entries<StrategyRow>(rows).flatMap(([key, { readsParams }]) =>
  readsParams === true ? [key] : [],
)

/** The strategy of merged, checked values. */
export function readStrategies(values: JsonObject): Partial<StrategyTables> {
  return Object.fromEntries(
    Object.entries<StrategyRow>(rows).flatMap(([key, { read }]) => {
      const table = values[key] ?? null
      return isJsonObject(table) ? [[key, read(table)]] : []
    }),
  )
}

/** Tables that determine how many agents work on the prompt: at most one may be set. */
const exclusive = ['iterate', ...strategyKeys] as const

/** Every second strategy of a file, and `agent` with a table for the model of the file or with its own agents. */
export function checkStrategies(data: JsonObject): readonly Finding[] {
  const { agent, collab, delegate } = data
  if (collab !== undefined && delegate !== undefined) {
    const both = '[delegate] and [collab] cannot be combined: the leader of a team starts its workers'
    const hint = 'Remove [collab]: max_workers of [delegate] limits how many work at the same time.'
    return [...checkStrategy(data), wrongKey(['collab'], { message: both, hint })]
  }
  if (agent === undefined || collab === undefined) return checkStrategy(data)
  const message = '"agent" and [collab] cannot be combined: the model of the file starts agents, but it is not called'
  return [...checkStrategy(data), wrongKey(['collab'], { message, hint: 'Move [collab] into the file of the agent.' })]
}

function checkStrategy(data: JsonObject): readonly Finding[] {
  const [first, ...others] = exclusive.filter((key) => data[key] !== undefined)
  if (first === undefined) return []
  const findings = others.map((other) => {
    const message = `[${first}] and [${other}] cannot be combined: a file has one strategy`
    const hint = 'Keep one of them, and move the other to a prompt file that a step or an agent uses.'
    return wrongKey([other], { message, hint })
  })
  if (data['agent'] === undefined || first === 'iterate') return findings
  const [who, one] = rows[first].agents
  const message = `"agent" and [${first}] cannot be combined: the ${who} name their agents`
  return [...findings, wrongKey(['agent'], { message, hint: `Name it as the agent of ${one}.` })]
}
