import { realPath } from '../../base/files.ts'
import { createJobs, type Jobs } from './jobs.ts'

/** What the command lines of one conversation share. When a run is resumed, it is rebuilt from the recorded calls. */
export interface ShellSession {
  /** Where the next line runs: absolute, links resolved. */
  readonly directory: () => string
  readonly move: (directory: string) => void
  readonly jobs: Jobs
}

export function createShellSession(baseDir: string): ShellSession {
  let directory: string | undefined
  return {
    directory: () => (directory ??= realPath(baseDir)),
    move: (next) => void (directory = next),
    jobs: createJobs(),
  }
}
