import { isJsonObject, type JsonObject } from '../base/json.ts'
import { type Finding, wrongKey } from './issue.ts'
import type { SettingRow, StrategyTable } from './setting.ts'
import { delegate } from './strategies/delegate.ts'
import { ensemble } from './strategies/ensemble.ts'
import { iterate } from './strategies/iterate.ts'
import { workflow } from './strategies/workflow.ts'

/**
 * The tables of a prompt file that say how it is worked on, other than by one call of a model. A file has only one; of
 * two, the one that comes first here counts as the one to keep.
 */
export const strategies = { iterate, workflow, ensemble, delegate } as const satisfies {
  readonly [key: string]: SettingRow & { readonly strategy: StrategyTable }
}

export type StrategyKey = keyof typeof strategies

/** The strategies by which several agents answer one task. */
export type AnsweringKey = Exclude<StrategyKey, 'iterate'>

/** What the tables of the strategies say. */
export type StrategyTables = {
  readonly [Key in StrategyKey]?: NonNullable<ReturnType<(typeof strategies)[Key]['strategy']['read']>>
}

const keys = Object.keys(strategies) as readonly StrategyKey[]

/** The strategies whose agents read the parameters of the file. */
export const readersOfParams: readonly string[] = keys.filter((key) => {
  const { readsParams }: StrategyTable = strategies[key].strategy
  return readsParams === true
})

/** The strategy of merged, checked values. */
export function readStrategies(values: JsonObject): StrategyTables {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const table = values[key] ?? null
      const read = isJsonObject(table) ? strategies[key].strategy.read(table) : undefined
      return read === undefined ? [] : [[key, read]]
    }),
  )
}

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
  const [first, ...others] = keys.filter((key) => data[key] !== undefined)
  if (first === undefined) return []
  const findings = others.map((other) => {
    const message = `[${first}] and [${other}] cannot be combined: a file has one strategy`
    const hint = 'Keep one of them, and move the other to a prompt file that a step or an agent uses.'
    return wrongKey([other], { message, hint })
  })
  const { agents }: StrategyTable = strategies[first].strategy
  if (data['agent'] === undefined || agents === undefined) return findings
  const [who, one] = agents
  const message = `"agent" and [${first}] cannot be combined: the ${who} name their agents`
  return [...findings, wrongKey(['agent'], { message, hint: `Name it as the agent of ${one}.` })]
}
