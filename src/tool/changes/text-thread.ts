import { Worker } from 'node:worker_threads'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { besideUs } from '../../base/beside.ts'
import { createTurns, manyListeners } from '../../base/concurrency.ts'
import { BatonError, type ErrorCode } from '../../base/error.ts'
import type { TextWork, WorkAnswer, WorkName, WorkRequest } from './text-work.ts'
import { textWork } from './text-work.ts'

/**
 * Where work on texts that somebody else wrote is done: here when it is short for sure, else in a thread. A thread can be
 * ended whatever it does, and meanwhile this one hears signals and keeps its clocks.
 */
export interface TextThread {
  /** @throws the reason of the signal; BatonError of the work, LIMIT when it needs too much memory */
  readonly work: <Name extends WorkName>(
    name: Name,
    ...args: Parameters<TextWork[Name]>
  ) => Promise<ReturnType<TextWork[Name]>> | ReturnType<TextWork[Name]>
  /** To be called between short pieces of work, of which there may be many. @throws the reason of the signal */
  readonly pause: () => Promise<void> | undefined
  /** Whether others had the time to change files since it was made. */
  readonly hasWaited: () => boolean
}

/** Gives a thread to some work, and ends it afterwards. One is started only when it is needed. */
export async function withTextThread<T>(signal: AbortSignal, use: (thread: TextThread) => Promise<T>): Promise<T> {
  const turns = createTurns()
  let worker: Worker | undefined
  const send = async (file: string, request: WorkRequest): Promise<unknown> => {
    worker ??= new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: heapMb }, env: {} })
    return valueOf(await answerOf(worker, request, signal))
  }
  try {
    return await use({
      work(name, ...args) {
        const file = isLong({ name, args }) ? workerFile() : undefined
        if (file !== undefined) return send(file, { name, args }) as Promise<ReturnType<TextWork[typeof name]>>
        const run = textWork[name] as unknown as (...values: typeof args) => ReturnType<TextWork[typeof name]>
        return run(...args)
      },
      pause: () => turns.pass(signal),
      hasWaited: () => turns.passed() || worker !== undefined,
    })
  } finally {
    void worker?.terminate()
  }
}

const heapMb = 1024

/** The worker as it was built. From the sources everything is done here: Node 20 cannot start a thread from them. */
function workerFile(): string | undefined {
  const compiled = fileURLToPath(new URL('./worker.js', import.meta.url))
  return besideUs('worker/changes.mjs') ?? (existsSync(compiled) ? compiled : undefined)
}

/** Texts of this length are read in some hundredths of a second, whatever they hold. */
const mostCharacters = 64 * 1024
/** The same for hunks, each of which may be looked for in all lines of the file. */
const mostLookups = 4_000_000
/** A file that takes longer to be taken apart than a thread to start. */
const mostOfFile = 8 * 1024 * 1024

function isLong({ name, args: [first, second] }: WorkRequest): boolean {
  switch (name) {
    case 'readFileChanges':
    case 'parseChanges':
      return String(first).length > mostCharacters
    case 'nearestPlaces':
    case 'unifiedDiff':
      return String(first).length + lengthOf(second) > 16 * mostCharacters
    case 'planChange': {
      const { kind, content } = first as Parameters<TextWork['planChange']>[0]
      if (kind !== 'Patch' && kind !== 'SearchReplace') return false
      const present = typeof second === 'string' ? second : ''
      const isLarge = content.length > 4 * mostCharacters || present.length > mostOfFile
      return isLarge || (linesOf(content) / linesOfHunk) * linesOf(present) > mostLookups
    }
  }
}

/** The least that a hunk which is looked for has: its mark, and a line. */
const linesOfHunk = 2

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.reduce<number>((sum, one) => sum + String(one).length, 0) : String(value).length
}

function linesOf(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

function answerOf(worker: Worker, request: WorkRequest, signal: AbortSignal): Promise<WorkAnswer> {
  return new Promise((resolve, reject) => {
    const stop = (): void => void worker.terminate()
    // only what was added: a worker has listeners of its own, without which it does not hear the next answer
    const leave = (): void => {
      signal.removeEventListener('abort', stop)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
    }
    const onMessage = (answer: WorkAnswer): void => {
      leave()
      resolve(answer)
    }
    const onError = (error: unknown): void => {
      leave()
      reject(signal.aborted ? (signal.reason as Error) : threadError(error))
    }
    const onExit = (code: number): void => onError(new Error(`the thread for file changes ended with ${code}`))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    manyListeners(signal).addEventListener('abort', stop)
    if (signal.aborted) stop()
    worker.postMessage(request)
  })
}

function threadError(error: unknown): unknown {
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (!isMemory) return error
  return new BatonError('LIMIT', `the file changes of an answer need more than ${heapMb} MB to be worked out`, {
    hint: 'Let the model send fewer changes, or change smaller files.',
  })
}

function valueOf(answer: WorkAnswer): unknown {
  if (answer.kind === 'done') return answer.value
  const { message, code, hint } = answer
  throw code === undefined ? new Error(message) : new BatonError(code as ErrorCode, message, { hint })
}
