import { classic } from './classic.ts'
import type { ExecutionMode } from './mode.ts'
import { unknownMode } from './prompts.ts'
import { createExecutionModes, type ExecutionModes } from './registry.ts'

/** The modes of a run: `classic`, and those that plug-ins bring. */
export function knownModes(brought: readonly ExecutionMode[] = []): ExecutionModes {
  const modes = createExecutionModes()
  for (const mode of [classic, ...brought]) modes.register(mode)
  return modes
}

/** @throws BatonError CONFIG_INVALID for a mode that is none of them */
export function refuseUnknownMode(id: string, modes: ExecutionModes): void {
  if (modes.get(id) === undefined) throw unknownMode(id, modes)
}
