import type { Json, JsonObject } from '../base/json.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { normalizeSubAgents, type AgentConfig } from './agent-config.ts'
import { placeFindings, type Finding, type Issue } from './issue.ts'
import { checkReserved } from './check-settings.ts'
import { checkVariables } from './input-variables.ts'
import { isReserved, reserved, type ReservedKey } from './keys.ts'
import { readParams, withoutReader } from './params.ts'
import { checkTrust, guardedKeys, type TrustState, withoutKeys } from './trust.ts'

export interface CheckedFrontMatter {
  /** Reserved keys whose values are right. */
  readonly values: JsonObject
  /** Keys that are not reserved, joined by those of `[params]`. */
  readonly params: JsonObject
  readonly agents: readonly AgentConfig[]
  /** Errors, in the order of the lines. */
  readonly issues: readonly Issue[]
  readonly warnings: readonly Issue[]
}

interface CheckOptions {
  /** Named where a key belongs into the user's own config file. */
  readonly userFile: string
  /** Asked when the file sets a key that needs trust; left out: it is not trusted. */
  readonly trust?: () => TrustState
}

/**
 * Gives every key of a prompt file its meaning (DESIGN 3 "Unknown keys", 4). All that is wrong is found at once. */
export async function checkFrontMatter(
  document: PromptDocument,
  { userFile, trust = () => 'untrusted' }: CheckOptions,
): Promise<CheckedFrontMatter> {
  const { data } = document.meta
  const state = guardedKeys(data).length === 0 ? 'untrusted' : trust()
  const known = readReserved(data, state)
  const params = readParams(data)
  const agents = data['sub_agents'] === undefined ? noAgents : normalizeSubAgents(data['sub_agents'])
  const source = { file: document.file, text: document.text, locate: document.meta.locate }
  const findings = [
    ...checkTrust(data, { file: document.file, userFile, state }),
    ...known.findings,
    ...params.findings,
    ...agents.findings,
  ]
  const readers = ['agent', 'template', 'input']
  const hasReader = agents.agents.length > 0 || readers.some((key) => data[key] !== undefined)
  return {
    values: withoutKeys(known.values),
    params: params.params,
    agents: agents.agents,
    issues: await placeFindings(findings, source),
    warnings: hasReader || findings.length > 0 ? [] : await placeFindings(params.paths.map(withoutReader), source),
  }
}

const noAgents = { agents: [], findings: [] }

function checkKey(key: ReservedKey, value: Json): readonly Finding[] {
  const found = checkReserved(key, value)
  return found.length === 0 && key === 'input' ? checkVariables(value as JsonObject) : found
}

function readReserved(
  data: JsonObject,
  trust: TrustState,
): { readonly values: JsonObject; readonly findings: readonly Finding[] } {
  const values: { [key: string]: Json } = {}
  const findings: Finding[] = []
  for (const [key, value] of Object.entries(data)) {
    // sub_agents are a matter of agent-config, params of readParams
    if (!isReserved(key) || key === 'sub_agents' || key === 'params') continue
    if (reserved.get(key)?.isGuarded === true && trust !== 'trusted') continue
    const found = checkKey(key, value)
    findings.push(...found)
    if (found.length === 0) values[key] = value
  }
  return { values, findings }
}
