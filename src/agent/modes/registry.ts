import type { ExecutionMode } from './mode.ts'

/** The modes that are known, by id (R156 to R159). It needs nothing to be made. */
export interface ExecutionModes {
  /** One with an id that is known replaces it, in its place of the list. */
  register(mode: ExecutionMode): void
  get(id: string): ExecutionMode | undefined
  /** In the order in which they were registered. */
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
