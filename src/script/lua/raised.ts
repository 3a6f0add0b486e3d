import { LuaError } from '../engine.ts'
import { causeOf, type HostError } from './host-errors.ts'
import type { ChunkNames } from './names.ts'
import { type Frame, splitPosition } from './position.ts'

/** An uncaught error as an engine found it. */
interface Raised {
  /** Name of the chunk that ran. */
  readonly chunk: string
  readonly text: string
  /** Innermost first. */
  readonly frames: readonly Frame[]
  readonly traceback: string | undefined
}

interface RaisedContext {
  readonly names: ChunkNames
  readonly hostErrors: readonly HostError[]
}

/** The `LuaError` for what a script has raised: the position apart from the message, and the host's own error as cause. */
export function raisedError({ chunk, text, frames, traceback }: Raised, context: RaisedContext): LuaError {
  const { names, hostErrors } = context
  const cause = causeOf(hostErrors, text)
  const { message, position } = splitPosition(names, text, frames)
  return new LuaError(names.restore(message), {
    chunk,
    ...position,
    ...(traceback === undefined ? {} : { traceback }),
    ...(cause === undefined ? {} : { cause }),
  })
}
