import type { ExecutionMode } from './mode.ts'

/** The registered modes, by id (R156 to R159). It has no dependencies. */
export interface ExecutionModes {
  /** A mode with a known id replaces the earlier one, at the same position. */
  register(mode: ExecutionMode): void
  get(id: string): ExecutionMode | undefined
  /** In the order of registration. */
  list(): readonly ExecutionMode[]
}

export function createExecutionModes(): ExecutionModes {
  const modes = new Map<string, ExecutionMode>()
  return {
    register: (mode) => void modes.set(mode.id, mode),
    get: (id) => modes.get(id),
    list: () => [...modes.values()],
  }
}
