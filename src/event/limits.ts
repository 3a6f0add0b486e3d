import { isObject, type JsonObject } from '../base/json.ts'

/**
 * Keys that control limits and restrictions of a run (whether, when and how long it continues), not what its parts do.
 */
const limitKeys: ReadonlySet<string> = new Set([
  'allow_run_on_task_fail',
  'budget',
  'changes',
  'code',
  'input_concurrency',
  'iterate',
  // every call of a server is a separate effect
  'mcp_servers',
  'prices',
  'retry',
  'runs',
  'sandbox',
  'timeout',
  'timeout_ms',
  'timeouts',
])

/** The params or settings that determine what a part does: raising a limit does not make it a different part. */
export function withoutLimits(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !limitKeys.has(key)))
}

/** The same for the input of a section or an agent, where `coder_params` are the params of the prompt file. */
export function givenWithoutLimits(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { input, options } = given
  const params: unknown = isObject(input) ? input['coder_params'] : undefined
  return {
    ...given,
    ...(isObject(params) ? { input: { ...(input as object), coder_params: withoutLimits(params as JsonObject) } } : {}),
    ...(isObject(options) ? { options: withoutLimits(options as JsonObject) } : {}),
  }
}
