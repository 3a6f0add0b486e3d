import type { AgentStatus } from '../../event/collab.ts'

/** Whether a status ends a wait for its agent (R101). */
export function isFinal(status: AgentStatus): boolean {
  return status !== 'pending_init' && status !== 'running' && status !== 'interrupted'
}

/** The name of a status, without its payload. */
export function statusName(status: AgentStatus): string {
  if (typeof status === 'string') return status
  return 'completed' in status ? 'completed' : 'errored'
}

const after: { readonly [from: string]: readonly string[] } = {
  pending_init: ['running', 'shutdown'],
  running: ['completed', 'errored', 'interrupted', 'shutdown'],
  interrupted: ['running', 'shutdown'],
  completed: ['running', 'shutdown'],
  errored: ['running', 'shutdown'],
}

/** Whether a status may follow another (R98 to R101). */
export function mayBecome(from: AgentStatus, to: AgentStatus): boolean {
  return after[statusName(from)]?.includes(statusName(to)) ?? false
}
