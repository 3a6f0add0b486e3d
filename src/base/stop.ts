/** Why a run was stopped from outside: the exit code is 128 plus the signal's number. */
export class StopSignal extends Error {
  override readonly name = 'StopSignal'
  readonly exitCode: number

  constructor(signal: string, exitCode: number) {
    super(`stopped by ${signal}`)
    this.exitCode = exitCode
  }
}
