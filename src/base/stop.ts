/** Why a run was stopped from outside: the exit code is 128 plus the signal's number. */
export class StopSignal extends Error {
  override readonly name = 'StopSignal'
  readonly exitCode: number

  constructor(signal: string, exitCode: number) {
    super(`stopped by ${signal}`)
    this.exitCode = exitCode
  }
}

/** Exit code of a command whose output nobody reads any more: 128 plus SIGPIPE. */
export const closedPipe = 141
