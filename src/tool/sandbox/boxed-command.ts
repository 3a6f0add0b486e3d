import { BatonError } from '../../base/error.ts'
import type { EndedProcess, StartedProcess } from '../../base/process.ts'
import type { ContextWith, Events, RunStore, Surroundings } from '../../event/context.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'

/** What a sandbox takes of a run. */
export type BoxContext = ContextWith<
  'at' | 'folders' | 'rights' | 'dry' | 'openedChanges',
  Events & Pick<RunStore, 'sources'> & Pick<Surroundings, 'env'>
>

/** A command to start. It inherits nothing. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/** Where the sandbox process reports what it has created. */
export const statusDescriptor = 4

/** A command ready to be started, once. */
export interface Boxed extends Command {
  /** Call with its process before it starts running. @throws BatonError SANDBOX */
  readonly onStart?: (pid: number) => void
  /** Call with what its process writes to `statusDescriptor`. */
  readonly onStatus?: (bytes: Buffer) => void
  /** Its process in the sandbox that leads the group of the command, once it exists and while it runs. */
  readonly innerLeader?: () => number | undefined
  /** Why the sandbox ended the command, as the end of a sentence; undefined if it did not. */
  readonly stopped: () => string | undefined
  /** Call when the command has ended, for whatever reason: ends everything that belongs to its sandbox. */
  readonly close: () => Promise<void>
}

/** What a sandbox is built from. */
export interface Boxing {
  /** Absolute. */
  readonly program: string
  readonly rights: SandboxRights
  /** For a command written by an author: absolute folders that stay readable although their parent is hidden. */
  readonly opened: readonly string[] | undefined
}

/** The error for a working directory that is hidden in the sandbox. */
export function hiddenFolderError(folder: string): BatonError {
  const hint = 'Use a folder in the workspace.'
  return new BatonError('SANDBOX', `${folder} is not visible in the sandbox`, { hint })
}

export interface EndedBox extends EndedProcess {
  /** Why its sandbox ended it, as the end of a sentence. */
  readonly stopped?: string
}

export interface StartedBox extends StartedProcess {
  /** Resolves once everything that belongs to the sandbox is gone as well. Never rejects. */
  readonly ended: Promise<EndedBox>
}
