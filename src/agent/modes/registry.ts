import { BatonError } from '../../base/error.ts'
import type { JsonObject } from '../../base/json.ts'
import { nearest } from '../../base/suggest.ts'
import { classic } from './classic.ts'
import { codeMode } from './code/code.ts'
import type { PluginFunction } from '../../event/plugin-tool.ts'
import type { ExecutionMode, KnownMode, Mode } from './mode.ts'

/** The modes that come with Baton, by id. Each gets the functions that plug-ins add to programs. */
const builtIn: Readonly<Record<string, (functions: readonly PluginFunction[]) => Mode>> = {
  classic: () => classic,
  code: codeMode,
}

/** The registered modes, by id. */
export interface ModeRegistry {
  /** A mode with a known id replaces the earlier one, at the same position. */
  register(mode: KnownMode): void
  get(id: string): KnownMode | undefined
  /** In the order of registration. */
  list(): readonly KnownMode[]
}

/** The modes of a run: those that come with Baton, and those of plug-ins. */
export function createModeRegistry(
  brought: readonly ExecutionMode[] = [],
  functions: readonly PluginFunction[] = [],
): ModeRegistry {
  const known = new Map<string, KnownMode>()
  const modes: ModeRegistry = {
    register: (mode) => void known.set(mode.id, mode),
    get: (id) => known.get(id),
    list: () => [...known.values()],
  }
  const own = Object.values(builtIn).map((make) => make(functions))
  for (const mode of [...own, ...brought]) modes.register(mode)
  return modes
}

/** @throws BatonError CONFIG_INVALID for an unknown mode */
export function modeNamed(id: string, modes: ModeRegistry): KnownMode {
  const mode = modes.get(id)
  if (mode !== undefined) return mode
  const known = modes.list().map((one) => one.id)
  const meant = nearest(id, known)
  const hint = meant === undefined ? `Modes: ${known.join(', ')}.` : `Did you mean "${meant}"?`
  throw new BatonError('CONFIG_INVALID', `Unknown execution mode: "${id}"`, { hint })
}

/**
 * Checks the options of a mode against its schema, if it has one.
 * @throws BatonError CONFIG_INVALID for invalid options
 */
export async function refuseOptions(id: string, options: JsonObject, modes: ModeRegistry): Promise<void> {
  const mode = modes.get(id)
  const schema = mode?.options
  if (mode === undefined || schema === undefined) return
  const wrong = (message: string): BatonError => new BatonError('CONFIG_INVALID', message, { hint: hintOf(mode) })
  const { compileSchema } = await import('../../base/json-schema.ts')
  const result = await compileSchema(schema)
  if (result.kind !== 'ok')
    throw wrong(`the schema of the options of the mode "${id}" is not a valid JSON Schema: ${result.message}`)
  const [problem] = result.compiled.validate(options)
  if (problem !== undefined) throw wrong(`[${id}] does not fit the mode "${id}": ${problem.path} ${problem.message}`)
}

/** Where the options of a mode are described. */
function hintOf(mode: KnownMode): string {
  if (!('open' in mode)) return 'See the documentation of the plug-in that defines the mode.'
  const { properties = {} } = mode.options ?? {}
  return `The keys of [${mode.id}]: ${Object.keys(properties as JsonObject).join(', ')}.`
}
