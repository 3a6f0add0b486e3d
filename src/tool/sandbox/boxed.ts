import { BatonError } from '../../base/error.ts'
import type { SandboxRights } from '../../event/sandbox-rights.ts'

/** A command as it is started: nothing is inherited. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/** Where the process of a box says what it has made. */
export const statusDescriptor = 4

/** A command as it is to be started, once. */
export interface Boxed extends Command {
  /** To be called with its process before it begins. @throws BatonError SANDBOX */
  readonly onStart?: (pid: number) => void
  /** To be called with what its process says on `statusDescriptor`. */
  readonly onStatus?: (bytes: Buffer) => void
  /** Why the box has ended the command, as the end of a sentence; undefined: it has not. */
  readonly stopped: () => string | undefined
  /** To be called when the command has ended, however it did: ends what belongs to its box. */
  readonly close: () => Promise<void>
}

/** What a box is made with. */
export interface Boxing {
  /** Absolute. */
  readonly program: string
  readonly rights: SandboxRights
  /** Of a command that an author wrote: absolute folders that can be read although what they are in is hidden. */
  readonly opened: readonly string[] | undefined
}

/** For a folder that a command cannot be in. */
export function unseenFolder(folder: string): BatonError {
  const hint = 'Use a folder of the workspace.'
  return new BatonError('SANDBOX', `${folder} cannot be seen in the sandbox`, { hint })
}
