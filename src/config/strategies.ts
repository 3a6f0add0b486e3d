import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import { checkReserved } from './check-settings.ts'
import { type Finding, meantHint, wrongKey } from './issue.ts'
import { isRequestKey, isReserved, reserved } from './keys.ts'

/** Tables of the front matter that determine how many agents work on the prompt: at most one may be set. */
const strategies = ['iterate', 'workflow', 'ensemble', 'delegate'] as const

/** What has agents in a strategy: plural and singular. */
const agentsOf = {
  workflow: ['steps', 'a step'],
  ensemble: ['members', 'a member'],
  delegate: ['workers', 'a worker'],
} as const

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
  const [first, ...others] = strategies.filter((key) => data[key] !== undefined)
  if (first === undefined) return []
  const findings = others.map((other) => {
    const message = `[${first}] and [${other}] cannot be combined: a file has one strategy`
    const hint = 'Keep one of them, and move the other to a prompt file that a step or an agent uses.'
    return wrongKey([other], { message, hint })
  })
  if (data['agent'] === undefined || first === 'iterate') return findings
  const [who, one] = agentsOf[first]
  const message = `"agent" and [${first}] cannot be combined: the ${who} name their agents`
  return [...findings, wrongKey(['agent'], { message, hint: `Name it as the agent of ${one}.` })]
}

/** Errors in the options that steps of a checked workflow set for the main agent: only request keys are allowed. */
export function checkStepOptions({ step: steps }: JsonObject): readonly Finding[] {
  return ((steps ?? []) as readonly JsonObject[]).flatMap(({ agent, options }, index) => {
    if (agent !== undefined || !isJsonObject(options ?? null)) return []
    return Object.entries(options as JsonObject).flatMap(([key, value]) => {
      const path = ['workflow', 'step', index, 'options']
      if (isReserved(key) && isRequestKey(key)) return checkReserved(key, value).map((found) => moved(found, path))
      const message = `unknown option "${key}" of a step without an agent`
      const known = [...reserved.keys()].filter(isRequestKey)
      const otherwise = 'Options for the main agent are model, temperature, context_globs and the like.'
      return [wrongKey([...path, key], { message, hint: meantHint(key, known, otherwise) })]
    })
  })
}

function moved(finding: Finding, below: DataPath): Finding {
  return { ...finding, path: [...below, ...finding.path] }
}
