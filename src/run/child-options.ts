import { nearest } from '../base/suggest.ts'
import type { JsonObject } from '../base/json.ts'
import { checkReserved } from '../config/check-settings.ts'
import { type Finding, throwIssues, withPlace } from '../config/issue.ts'
import { isReserved, isRequestKey, reserved } from '../config/keys.ts'
import type { PromptAgent } from '../event/agent.ts'

/**
 * The settings a caller gives a prompt file that it runs as an agent: request keys only, because what the file may do
 * is its own affair. `allow_run_on_task_fail` is an option of agents too (spec/aipack.md 4.1). Null says nothing.
 * @throws BatonError CONFIG_INVALID naming the option
 */
export function readChildOptions(options: JsonObject, { name }: Pick<PromptAgent, 'name'>): JsonObject {
  const given = Object.entries(options).filter(([, value]) => value !== null)
  const findings = given.flatMap(([key, value]): readonly Finding[] => {
    if (!isOption(key)) return [unknownOption(key)]
    return isReserved(key) ? checkReserved(key, value) : []
  })
  throwIssues(
    findings.map((finding) => {
      const { code, message, hint } = withPlace(finding, undefined)
      return { code, message: `options of "${name}": ${message}`, hint }
    }),
  )
  return Object.fromEntries(given)
}

function isOption(key: string): boolean {
  return isRequestKey(key) || key === 'allow_run_on_task_fail'
}

function unknownOption(key: string): Finding {
  const similar = nearest(key, [...reserved.keys()].filter(isOption))
  const hint = isReserved(key)
    ? `Set ${key} in the prompt file itself.`
    : 'Options of a prompt file are model, temperature, globs and the like.'
  return {
    code: 'CONFIG_INVALID',
    message: isReserved(key) ? `"${key}" is not for its caller to set` : `unknown key "${key}"`,
    hint: similar === undefined ? hint : `Did you mean "${similar}"?`,
    path: [key],
    part: 'key',
  }
}
