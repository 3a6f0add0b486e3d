import type { JsonObject } from '../base/json.ts'
import type { Layer } from '../config/layers.ts'
import { settingsFor } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import type { PromptAgent } from '../event/agent.ts'
import { askedModel, resolveAlias } from '../model/alias.ts'
import { readChildOptions } from './child-options.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TargetOptions } from './target.ts'

/** Where a run was started from, and its `-c`: what all prompt files of the run are loaded with. */
export interface ChildSurroundings extends Omit<TargetOptions, 'file' | 'text' | 'flags'> {
  readonly flags: Pick<TargetOptions['flags'], 'overrides'>
}

/**
 * What a prompt file is loaded with that is run as an agent: `-m` and `BATON_MODEL` are for the main agent only, `-c` is
 * for the run, whose settings stand below those of the file (DESIGN 3).
 */
export function childTargetOptions(file: string, around: ChildSurroundings): TargetOptions {
  const { BATON_MODEL: _, ...env } = around.env
  return { ...around, env, file, flags: { overrides: around.flags.overrides }, isAgent: true }
}

export interface CallerRights {
  /** Options of the entry or the call; they win over the file's front matter. */
  readonly options: JsonObject
  /** A child never has more rights than its parent (DESIGN 9). */
  readonly mayWrite: boolean
  /** What agents of the run start from: it stands in for what the file does not say (DESIGN 3). */
  readonly inherited?: JsonObject
}

/**
 * The target as its caller runs it.
 * @throws BatonError CONFIG_INVALID for options that are wrong
 */
export function asChild(
  target: PromptTarget,
  agent: Pick<PromptAgent, 'name' | 'file'>,
  { options, mayWrite, inherited = {} }: CallerRights,
): PromptTarget {
  const layer: Layer = { origin: { kind: 'flag', name: 'options' }, values: readChildOptions(options, agent) }
  const { layers } = target.spec
  const run: Layer = { origin: { kind: 'default' }, values: inherited }
  const spec = { ...target.spec, layers: { ...layers, below: [...layers.below, run], above: [...layers.above, layer] } }
  const settings = (params: JsonObject): Settings => restricted(settingsFor(spec, params), mayWrite)
  return { ...target, spec, settings: settings(spec.params), settingsFor: settings }
}

/** Models are looked up by the names the main file gives them, so a name of this file's own is replaced before. */
function restricted(settings: Settings, mayWrite: boolean): Settings {
  const { model, model_aliases: aliases, fallback_models: fallbacks, write_mode: writes } = settings
  return {
    ...settings,
    ...(model === undefined ? {} : asked(model, aliases)),
    fallback_models: fallbacks.map((name) => resolveAlias(name, aliases)),
    write_mode: writes && mayWrite,
  }
}

function asked(name: string, aliases: Settings['model_aliases']): Pick<Settings, 'model' | 'reasoning_effort'> {
  const { model, reasoningEffort } = askedModel(name, aliases)
  return { model, ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }) }
}

/** Keys of the front matter that are decided once for the whole run, by the file that was started. */
export function keysWithoutEffect({ spec }: PromptTarget): readonly string[] {
  return ['lua', 'retry', 'runs', 'secrets', 'timeouts'].filter((key) => spec.frontMatter[key] !== undefined)
}
