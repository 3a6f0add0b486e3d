import { BatonError } from '../../base/error.ts'
import type { JsonObject } from '../../base/json.ts'
import { classic } from './classic.ts'
import { codeMode } from './code/code.ts'
import type { PluginFunction } from '../../event/plugin-tool.ts'
import type { ExecutionMode } from './mode.ts'
import { unknownMode } from './prompts.ts'
import { createExecutionModes, type ExecutionModes } from './registry.ts'

/** The modes that come with Baton, by id. Each gets the functions that plug-ins add to programs. */
const builtIn: Readonly<Record<string, (functions: readonly PluginFunction[]) => ExecutionMode>> = {
  classic: () => classic,
  code: codeMode,
}

/** Whether the messages of a mode are texts of ours, which a later version may word differently. */
export function isBuiltInMode(id: string): boolean {
  return Object.hasOwn(builtIn, id)
}

/** The modes of a run: those that come with Baton, and those of plug-ins. */
export function knownModes(
  brought: readonly ExecutionMode[] = [],
  functions: readonly PluginFunction[] = [],
): ExecutionModes {
  const modes = createExecutionModes()
  const own = Object.values(builtIn).map((make) => make(functions))
  for (const mode of [...own, ...brought]) modes.register(mode)
  return modes
}

/** @throws BatonError CONFIG_INVALID for an unknown mode */
export function refuseUnknownMode(id: string, modes: ExecutionModes): void {
  if (modes.get(id) === undefined) throw unknownMode(id, modes)
}

/**
 * Checks the options of a mode against its schema, if it has one.
 * @throws BatonError CONFIG_INVALID for invalid options
 */
export async function refuseOptions(id: string, options: JsonObject, modes: ExecutionModes): Promise<void> {
  const schema = modes.get(id)?.options
  if (schema === undefined) return
  const { compileSchema } = await import('../../base/json-schema.ts')
  const result = await compileSchema(schema)
  if (result.kind !== 'ok')
    throw wrong(`the schema of the options of the mode "${id}" is not a valid JSON Schema: ${result.message}`)
  const [problem] = result.compiled.validate(options)
  if (problem !== undefined) throw wrong(`[${id}] does not fit the mode "${id}": ${problem.path} ${problem.message}`)
}

function wrong(message: string): BatonError {
  return new BatonError('CONFIG_INVALID', message, {
    hint: 'See the documentation of the plug-in that defines the mode.',
  })
}
