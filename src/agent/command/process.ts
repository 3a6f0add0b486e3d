import { signalOf, underWatch } from '../../base/process-watch.ts'
import { type NotStarted, startProcess, type StartedProcess, untilEnded } from '../../base/process.ts'

/** Bytes that a program may print, on both streams together. */
export const mostPrinted = 64 * 1024 * 1024
/** Bytes kept of the end of its error output. */
const keptWords = 8_192

export interface CommandProcess {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** If omitted, stdin is empty. */
  readonly input?: string
  /** If omitted, there is no time limit. */
  readonly timeLimitMs?: number
  /** Called with its process id, which is also its group id, before it starts. */
  readonly onStart: (pid: number) => void
  readonly onOutput: (bytes: Buffer) => void
}

/** How the program ended. `flooded`: it printed more than `mostPrinted` and was stopped. */
export type CommandEnd = (
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'flooded' }
  | NotStarted
) & {
  /** The end of its error output. */
  readonly words: string
}

/**
 * Runs a program to its end in its own process group, outside of the sandbox. Both of its streams are read before it
 * gets any input, and its stdin is always closed, so neither side can block the other (R268). When it ends, reaches its
 * time limit or prints too much, or when `signal` is aborted, its whole group is stopped: TERM, and KILL after 5 s
 * (R272, R273). If this process is killed, the program is ended 5 s later. Rejects only with the signal's reason.
 */
export async function runCommand(options: CommandProcess, signal: AbortSignal): Promise<CommandEnd> {
  signal.throwIfAborted()
  const { input, onOutput, ...program } = options
  let started: StartedProcess | undefined
  let printed = 0
  let words = Buffer.alloc(0)

  function counted(take: (bytes: Buffer) => void): (bytes: Buffer) => void {
    return (bytes) => {
      printed += bytes.length
      if (printed <= mostPrinted) take(bytes)
      else void started?.stop()
    }
  }

  const begun = await startProcess({
    ...program,
    ...underWatch(program),
    ...(input === undefined ? {} : { readsInput: true as const }),
    onOutput: {
      stdout: counted(onOutput),
      stderr: counted((bytes) => {
        // a copy, because a slice would keep the whole buffer in memory
        words = Buffer.from(Buffer.concat([words, bytes.subarray(-keptWords)]).subarray(-keptWords))
      }),
    },
  })
  const text = (): string => words.toString('utf8').replace(/^\uFFFD+/, '')
  if (begun.kind === 'not_started') return { ...begun, words: '' }
  started = begun
  if (input !== undefined) {
    begun.write(input)
    begun.endInput()
  }
  const { end } = await untilEnded(begun, signal)
  if (printed > mostPrinted) return { kind: 'flooded', words: text() }
  const signalName = end.kind === 'exited' ? signalOf(end.code) : undefined
  return signalName === undefined ? { ...end, words: text() } : { kind: 'killed', signal: signalName, words: text() }
}
