import { isObject, type JsonObject } from '../base/json.ts'

/** Keys that decide whether, when and how long a run continues and what it is held to, and never what its parts do. */
const limitKeys: ReadonlySet<string> = new Set([
  'allow_run_on_task_fail',
  'budget',
  'changes',
  'code',
  'input_concurrency',
  'iterate',
  // every call of a server is an effect of its own
  'mcp_servers',
  'prices',
  'retry',
  'runs',
  'sandbox',
  'timeout',
  'timeout_ms',
  'timeouts',
])

/** Params or settings as far as they decide what a part does: raising a limit does not make it another one. */
export function withoutLimits(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !limitKeys.has(key)))
}

/** The same for what a section or an agent is given: `coder_params` of its input are those of the prompt file. */
export function givenWithoutLimits(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { input, options } = given
  const params: unknown = isObject(input) ? input['coder_params'] : undefined
  return {
    ...given,
    ...(isObject(params) ? { input: { ...(input as object), coder_params: withoutLimits(params as JsonObject) } } : {}),
    ...(isObject(options) ? { options: withoutLimits(options as JsonObject) } : {}),
  }
}
