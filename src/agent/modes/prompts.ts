import { BatonError, isSuspension } from '../../base/error.ts'
import { nearest } from '../../base/suggest.ts'
import { errorInfo } from '../../event/error-info.ts'
import type { EventBody } from '../../event/event.ts'
import { noUsage } from '../../event/message.ts'
import type { Prompt } from '../../event/prompt.ts'
import { classic } from './classic.ts'
import type { ExecutorOptions, PromptExecutor } from './mode.ts'
import type { ExecutionModes } from './registry.ts'

/** Executes each prompt in its mode, and tracks the prompts in progress (R162 to R166). */
export interface Prompts {
  /** By prompt id. A prompt that has ended is removed (R164). */
  readonly active: ReadonlyMap<string, PromptExecutor>
  /** Makes the executor of a prompt. @throws BatonError CONFIG_INVALID for an unknown mode */
  readonly create: (options: ExecutorOptions) => PromptExecutor
  /** Executes a prompt and returns its final state. `isLimited`: a limit ended it. @throws the error of a failure */
  readonly execute: (executor: PromptExecutor, signal: AbortSignal, isLimited?: () => boolean) => Promise<Prompt>
}

export function createPrompts(modes: ExecutionModes, send: (event: EventBody) => void): Prompts {
  if (modes.get(classic.id) === undefined) modes.register(classic)
  const active = new Map<string, PromptExecutor>()
  return {
    active,
    create(options) {
      const { mode: id = classic.id, userId } = options
      const mode = modes.get(id)
      if (mode === undefined) throw unknownMode(id, modes)
      const executor = mode.createExecutor({ ...options, mode: id })
      active.set(executor.id, executor)
      send({ type: 'prompt.created', prompt_id: executor.id, user_id: userId, mode: id })
      return executor
    },
    async execute(executor, signal, isLimited = () => false) {
      const { id } = executor
      try {
        const prompt = await executor.run()
        const stop = isLimited() ? ({ stop_reason: 'limit' } as const) : {}
        send({ type: 'prompt.completed', prompt_id: id, usage: prompt.usage ?? noUsage, ...stop })
        return prompt
      } catch (error) {
        if (!isSuspension(error)) {
          const state = signal.aborted ? 'cancelled' : 'failed'
          send({ type: 'prompt.error', prompt_id: id, state, error: errorInfo(error) })
        }
        throw error
      } finally {
        active.delete(id)
      }
    },
  }
}

/** The error for an unregistered mode (R163, R201). */
export function unknownMode(id: string, modes: Pick<ExecutionModes, 'list'>): BatonError {
  const known = modes.list().map((mode) => mode.id)
  const meant = nearest(id, known)
  const hint = meant === undefined ? `Modes: ${known.join(', ')}.` : `Did you mean "${meant}"?`
  return new BatonError('CONFIG_INVALID', `Unknown execution mode: "${id}"`, { hint })
}
