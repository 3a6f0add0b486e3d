import type { DataPath } from '../base/data-text.ts'
import type { JsonObject } from '../base/json.ts'
import { type Aggregate, aggregateOf, type WrittenEnsemble, type WrittenMember } from './ensemble.ts'
import { type Finding, wrongKey, wrongValue } from './issue.ts'

/** Inconsistencies in a checked `ensemble` table. Conflicts with other keys of the file are checked elsewhere. */
export function checkEnsemble(value: JsonObject): readonly Finding[] {
  const written = value as WrittenEnsemble
  const { agents = [] } = written
  if (agents.length === 0) {
    const hint = 'Add [[ensemble.agents]] with a model, an agent or a command.'
    return [wrongKey(['ensemble'], { message: '"ensemble" has no agents', hint })]
  }
  return [...agents.flatMap(checkMember), ...checkNames(agents), ...checkQuorum(written), ...checkAggregate(written)]
}

function at(index: number, ...key: readonly string[]): DataPath {
  return ['ensemble', 'agents', index, ...key]
}

function checkMember(member: WrittenMember, index: number): readonly Finding[] {
  const { name, model, agent, command, preset } = member
  const shown = name === undefined ? `member ${index + 1} of the ensemble` : `ensemble member "${name}"`
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
