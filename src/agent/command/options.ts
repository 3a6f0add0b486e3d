import { BatonError } from '../../base/error.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import { modelOptions } from '../../config/agent-options.ts'
import { suggestionHint } from '../../settings/issue.ts'
import { parseDuration } from '../../base/duration.ts'
import type { CommandAgent, CommandPreset } from '../../event/agent.ts'
import { requestedModel } from '../../model/alias.ts'

/** The options that a caller sets for a command agent. */
export interface CommandOptions {
  readonly model: string | undefined
  readonly timeoutMs: number | undefined
}

/** Options that a command agent uses. */
const own = ['model', 'timeout'] as const
/** Model options that the main agent gets; ignored, because the program has its own settings. */
const others: ReadonlySet<string> = new Set(modelOptions)

/**
 * Reads the options of a caller.
 * @throws BatonError CONFIG_INVALID naming the invalid option
 */
export function commandOptions({ name, line }: CommandAgent, options: JsonObject): CommandOptions {
  const given = Object.entries(options).filter(([, value]) => value !== null)
  const wrong = (message: string, hint: string): BatonError =>
    new BatonError('CONFIG_INVALID', `options of "${name}": ${message}`, { hint })
  const unknown = given.find(([key]) => !(own as readonly string[]).includes(key) && !others.has(key))
  if (unknown !== undefined) {
    const [key] = unknown
    throw wrong(`unknown key "${key}"`, suggestionHint(key, own, 'A command agent has the options model and timeout.'))
  }
  const { model, timeout } = options
  if (model !== undefined && model !== null && (typeof model !== 'string' || model === '')) {
    throw wrong('"model" must be the name of a model', 'Use the name that the program has for it.')
  }
  const ms = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  if (timeout !== undefined && timeout !== null && (ms === undefined || ms <= 0)) {
    throw wrong('"timeout" must be a duration above zero such as "30s" or "10m"', 'Write it as a string with a unit.')
  }
  return { model: typeof model === 'string' ? modelFor(line.preset, model, options) : undefined, timeoutMs: ms }
}

/** The model by the program's name for it: aliases are resolved, and our provider prefixes are removed. */
function modelFor(preset: CommandPreset | undefined, given: string, { model_aliases: aliases }: JsonObject): string {
  const { model } = requestedModel(
    given,
    isJsonObject(aliases) ? (aliases as { readonly [alias: string]: string }) : {},
  )
  const [provider, ...rest] = model.split('::')
  if (rest.length === 0) return model
  return preset === 'opencode' ? `${provider}/${rest.join('::')}` : rest.join('::')
}
