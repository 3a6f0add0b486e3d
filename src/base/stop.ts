/** Why a run was stopped from outside: the exit code is 128 plus the signal's number. */
export class StopSignal extends Error {
  override readonly name: string = 'StopSignal'
  readonly exitCode: number

  constructor(signal: string, exitCode: number) {
    super(`stopped by ${signal}`)
    this.exitCode = exitCode
  }
}

/** Exit code of a command whose output nobody reads any more: 128 plus SIGPIPE. */
export const closedPipe = 141

/**
 * Why a command was stopped that cannot write its result (DESIGN 12): whoever read it has left (141), or the disk is full
 * (1). The edge tells of it once, whatever the command makes of it.
 */
export class OutputLost extends StopSignal {
  override readonly name: string = 'OutputLost'

  constructor(error: Error) {
    const hasLeft = 'code' in error && readerLeft.has(error.code)
    super(hasLeft ? 'a closed pipe' : `what stdout leads to: ${error.message}`, hasLeft ? closedPipe : 1)
    this.cause = error
  }
}

const readerLeft: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET'])
