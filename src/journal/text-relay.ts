import { appendFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLineReader } from '../base/appended-lines.ts'
import type { RunEvent } from '../event/event.ts'
import {
  createLiveTexts,
  createTextSender,
  createReceivedTexts,
  type LiveTexts,
  type TextUpdate,
} from './live-texts.ts'

/*
 * What models of a run are writing, for a process that shows the run and is not the one that works on it. Who reads
 * touches a file in the folder of the run again and again; while it is fresh, the process of the run appends to another one.
 * Both are gone when the run has ended. They are no part of its record: without them everything works.
 */

const readerFile = 'reader'
const textsFile = 'texts.jsonl'

/** How long a touch counts, in milliseconds. */
const freshMs = 10_000
/** Milliseconds between touches, between looks of the process whether somebody reads, and between its messages. */
const touchMs = 3_000
const lookMs = 500
const sendMs = 200
/** Milliseconds between reads. */
const readMs = 200

/** Publishes the texts of the run of this process while another one reads. */
export interface TextPublication {
  readonly add: (event: RunEvent) => void
  /** Removes the files. */
  readonly close: () => void
}

/** @param folder of the run */
export function publishTexts(folder: string): TextPublication {
  const file = join(folder, textsFile)
  const texts = createLiveTexts()
  const sender = createTextSender(texts, append, sendMs)
  let timer: NodeJS.Timeout | undefined
  let isPublishing = false
  let hasWritten = false

  function append(update: TextUpdate): void {
    attempt(() => {
      // of a process that was killed
      if (!hasWritten) rmSync(file, { force: true })
      hasWritten = true
      appendFileSync(file, `${JSON.stringify(update)}\n`, { mode: 0o600 })
    })
  }

  function look(): void {
    const touched = attempt(() => statSync(join(folder, readerFile), { throwIfNoEntry: false })?.mtimeMs) ?? 0
    const isRead = Date.now() - touched < freshMs
    if (isRead === isPublishing) return
    isPublishing = isRead
    sender.listen(isRead)
  }

  return {
    add(event) {
      if (event.type === 'item.completed') sender.flush()
      texts.add(event)
      if (event.type === 'item.delta') timer ??= setInterval(look, lookMs).unref()
    },
    close() {
      clearInterval(timer)
      sender.listen(false)
      const left = isPublishing || hasWritten ? [file, join(folder, readerFile)] : []
      for (const path of left) attempt(() => rmSync(path, { force: true }))
    },
  }
}

/** The texts of runs of other processes. Those of a run are read once, however many listen. */
export function createTextReaders(): { readonly of: (folder: string) => LiveTexts } {
  const open = new Map<string, LiveTexts>()
  return {
    of(folder) {
      const known = open.get(folder)
      if (known !== undefined) return known
      const texts = readTexts(folder, () => void open.delete(folder))
      open.set(folder, texts)
      return texts
    },
  }
}

/** Reads what the process of a run publishes, while somebody listens. @param onEnd called when nobody does any more */
function readTexts(folder: string, onEnd: () => void): LiveTexts {
  const received = createReceivedTexts((isOn) => (isOn ? begin() : end()))
  let timers: readonly NodeJS.Timeout[] = []
  let readLines = openTexts()

  function openTexts(): ReturnType<typeof createLineReader> {
    return createLineReader(join(folder, textsFile), mostAtOnce)
  }

  function begin(): void {
    readLines = openTexts()
    touch()
    timers = [setInterval(touch, touchMs).unref(), setInterval(read, readMs).unref()]
  }

  function end(): void {
    for (const timer of timers) clearInterval(timer)
    onEnd()
    attempt(() => rmSync(join(folder, readerFile), { force: true }))
  }

  function touch(): void {
    const file = join(folder, readerFile)
    attempt(() => {
      writeFileSync(file, '', { mode: 0o600 })
      // writing nothing changes nothing
      utimesSync(file, new Date(), new Date())
    })
  }

  function read(): void {
    for (const line of readLines().lines) {
      try {
        received.add(JSON.parse(line) as TextUpdate)
      } catch {
        // of a process that was killed while it wrote
      }
    }
  }

  return received
}

/** Undefined if it cannot be done: what is not shown now is shown when it is recorded, and no run fails for it. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

/** Bytes of one read; a line has at most a text of a million characters, escaped. */
const mostAtOnce = 16 * 1024 * 1024
