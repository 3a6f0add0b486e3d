import { messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { manyListeners } from '../base/concurrency.ts'
import type { ReadLog } from '../base/reads.ts'
import type { RunContext } from '../event/context.ts'
import { createMeter, type Meter } from '../event/meter.ts'
import type { Part } from '../event/part.ts'
import type { RunSources } from '../event/sources.ts'
import type { RunJournal } from '../journal/journal.ts'
import { createVerification, type FinishedPart, type Verification } from '../journal/verified-effects.ts'
import { type AddedTexts, createOwnFiles, type LeftFiles, type OwnFiles } from './left-files.ts'

/** A part of an earlier run, and the final files of that run. */
export interface EarlierPart extends FinishedPart {
  /** The executed files: the hash of the text by place and path. */
  readonly uses: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly left: LeftFiles
}

export interface VerifyPartOptions {
  readonly earlier: EarlierPart
  readonly journal: RunJournal
  /** The texts that the session has appended to files, including this run. */
  readonly added: AddedTexts
}

export type Verified<T> =
  /** `commit` records the part as done now and emits its events. */
  | { readonly kind: 'unchanged'; readonly value: T; readonly commit: () => void; readonly relied: LeftFiles }
  | { readonly kind: 'changed'; readonly reason: string }

/**
 * Does a part tentatively: nothing is paid for, written or sent until it is known to be unchanged (see
 * `createVerification`).
 * @throws the reason of the context's signal
 */
export async function verifyPart<T>(
  part: Part<T>,
  { earlier, journal, added }: VerifyPartOptions,
  context: RunContext,
): Promise<Verified<T>> {
  const stop = new AbortController()
  const own = createOwnFiles(earlier.left, { workspace: context.scope.folders.workspace, added })
  const { at } = context.scope
  const { isOwnRead, whyChangeAgain } = own
  const meter = createMeter()
  const verification: Verification = createVerification({
    earlier,
    at,
    journal,
    live: context.services.effects,
    permission: context.services.permission,
    isOwnRead,
    whyChangeAgain,
    onRecall(place, spent) {
      meter.recall(place, spent)
      verification.later(() => context.services.meter.recall(place, spent))
    },
    onDirty: (reason) => stop.abort(new DOMException(reason, 'AbortError')),
  })
  const inner = lookingContext(context, { verification, earlier, own, meter, stop: stop.signal })
  try {
    const value = await inner.services.effects.boundary(at, () => part.work(inner), part)
    if (part.isFinal?.(value) === false) return { kind: 'changed', reason: 'it ends differently' }
    return { kind: 'unchanged', value, commit: verification.commit, relied: own.found }
  } catch (error) {
    context.services.signal.throwIfAborted()
    return { kind: 'changed', reason: verification.reason() ?? `it ends differently: ${messageOf(error)}` }
  }
}

interface Looking {
  readonly verification: Verification
  readonly earlier: EarlierPart
  readonly own: OwnFiles
  /** Measures the part separately, because it may still turn out to be changed. */
  readonly meter: Meter
  readonly stop: AbortSignal
}

function lookingContext(context: RunContext, { verification, earlier, own, meter, stop }: Looking): RunContext {
  const { earlier: _, reads, ...services } = context.services
  return {
    scope: context.scope,
    services: {
      ...services,
      effects: verification.effects,
      meter,
      signal: manyListeners(AbortSignal.any([services.signal, stop])),
      events: (at, event) => verification.later(() => services.events(at, event)),
      sources: lookingSources(services.sources, { verification, earlier, context }),
      ...(reads === undefined ? {} : { reads: lookingReads(reads, own) }),
    },
  }
}

/** Refuses to execute files that have changed. */
function lookingSources(
  sources: RunSources,
  { verification, earlier, context }: Pick<Looking, 'verification' | 'earlier'> & { readonly context: RunContext },
): RunSources {
  return {
    execute(file, use) {
      sources.execute(file)
      if (use === undefined) return
      const hash = earlier.uses.get(verification.placeThen(use.at) ?? '')?.get(file)
      const shown = displayPath(context.scope.folders.workspace, file)
      if (hash === undefined) verification.refuse(`${shown} was not run before`)
      if (hash !== sha256(use.text)) verification.refuse(`${shown} changed`)
      verification.later(() => sources.execute(file, use))
    },
    change: (files) => verification.later(() => sources.change(files)),
    writing: sources.writing,
    make: (file) => verification.later(() => sources.make(file)),
    made: sources.made,
    inTurn: sources.inTurn,
    executed: sources.executed,
  }
}

/** For a file that the earlier run changed, its final state is watched, not the older text that is served. */
function lookingReads(reads: ReadLog, { isAsLeft }: OwnFiles): ReadLog {
  return { ...reads, file: (path, text) => (isAsLeft(path) ? reads.file(path) : reads.file(path, text)) }
}
