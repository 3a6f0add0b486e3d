import { atMost } from '../base/concurrency.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { signalOf, watchedProgram } from '../base/process-watch.ts'
import { startProcess } from '../base/process.ts'
import { ConnectionFailure, type Flood, type ServerEnd } from './connection.ts'
import { createFloodLimit, isTooDeep } from './flood-limit.ts'
import { createLineReader } from './line-reader.ts'

interface StdioOptions {
  /** An absolute path, or a name that is looked up in `PATH` of `environment`. */
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The complete environment. */
  readonly environment: Readonly<Record<string, string>>
  /**
   * Limit for one message, and for output without any message in it; a server that sends more is stopped, and so is one
   * that sends thousands of messages that nobody asked for, or thousands of nested levels.
   */
  readonly maxBytes: number
  /** Called with the process id, which is also the process group id, before the server reads anything. */
  readonly onStart: (pid: number) => void
  readonly onMessage: (message: JsonObject) => void
  /** Called with the first line that is not a message: such lines are skipped. */
  readonly onJunk: (line: string) => void
  /** Called once. */
  readonly onEnd: (end: ServerEnd) => void
}

/** A running server that accepts messages on its stdin. */
export interface StdioServer {
  readonly pid: number
  readonly send: (message: object) => void
  /** The tail of its stderr. */
  readonly words: () => string
  /** Closes its stdin; sends TERM to its group after 1 s, and KILL after 5 s more. Never rejects. */
  readonly close: () => Promise<void>
}

/** How long a server has to exit on its own after its stdin is closed. */
const leaveMs = 1_000
const keptWords = 8_192

/**
 * Starts a server that reads and writes one JSON message per line. It has its own process group, and nothing of it is
 * left when it ends or is closed. Memory is bounded whatever it writes. Rejects with ConnectionFailure if it cannot be
 * started.
 */
export async function startStdio(options: StdioOptions): Promise<StdioServer> {
  const { cwd, environment, maxBytes, onStart, onMessage, onJunk, onEnd } = options
  const words = createTail(keptWords)
  const limit = createFloodLimit()
  let flooded: Flood | undefined
  let closing: Promise<void> | undefined
  let junkBytes = 0
  let isJunkTold = false

  const lines = createLineReader({
    maxBytes,
    onTooLong: () => flood({ of: 'bytes', bytes: maxBytes }),
    onLine(line, bytes) {
      if (flooded !== undefined) return
      if (isTooDeep(line)) return flood({ of: 'levels' })
      const messages = messagesIn(line)
      if (messages.length > 0) {
        junkBytes = 0
        for (const message of messages) {
          if (!limit.take()) return flood({ of: 'messages' })
          onMessage(message)
        }
        return
      }
      if (line.trim() === '') return
      junkBytes += bytes
      if (junkBytes > maxBytes) return flood({ of: 'bytes', bytes: maxBytes })
      if (isJunkTold) return
      isJunkTold = true
      onJunk(line)
    },
  })

  function flood(by: Flood): void {
    if (flooded !== undefined) return
    flooded = by
    void started.stop()
  }

  const started = await startProcess({
    ...watchedProgram(options),
    cwd,
    environment,
    readsInput: true,
    onStart,
    onOutput: { stdout: (bytes) => (flooded === undefined ? lines.add(bytes) : undefined), stderr: words.add },
  }).then((result) => {
    if (result.kind === 'started') return result
    throw new ConnectionFailure({ kind: 'not_started', reason: result.reason })
  })

  void started.ended.then(({ end }) => {
    const said = { words: words.text() }
    if (flooded !== undefined) return onEnd({ kind: 'flooded', flood: flooded, ...said })
    if (closing !== undefined) return onEnd({ kind: 'stopped', ...said })
    if (end.kind === 'timed_out') return onEnd({ kind: 'stopped', ...said })
    const signal = end.kind === 'exited' ? signalOf(end.code) : undefined
    onEnd(signal === undefined ? { ...end, ...said } : { kind: 'killed', signal, ...said })
  })

  async function leave(): Promise<void> {
    started.endInput()
    await atMost(leaveMs, started.ended)
    await started.stop()
    await started.ended
  }

  return {
    pid: started.pid,
    send(message) {
      limit.expect()
      started.write(`${JSON.stringify(message)}\n`)
    },
    words: words.text,
    close: () => (closing ??= leave()),
  }
}

/** Empty if the line is something else. An older protocol sends several messages as a list. */
function messagesIn(line: string): readonly JsonObject[] {
  const first = line.trimStart()[0]
  if (first !== '{' && first !== '[') return []
  try {
    const value: unknown = JSON.parse(line)
    const all = Array.isArray(value) ? (value as readonly unknown[]) : [value]
    return all.every(isMessage) ? all : []
  } catch {
    return []
  }
}

function isMessage(value: unknown): value is JsonObject {
  return isObject(value) && value['jsonrpc'] === '2.0'
}

/** Keeps the tail of a text stream. */
function createTail(maxBytes: number) {
  let kept = Buffer.alloc(0)
  return {
    add: (chunk: Buffer): void => {
      const all = Buffer.concat([kept, chunk.subarray(-maxBytes)])
      // a copy, because a slice would keep the whole buffer alive
      kept = Buffer.from(all.subarray(-maxBytes))
    },
    text: (): string => kept.toString('utf8').replace(/^\uFFFD+/, ''),
  }
}
