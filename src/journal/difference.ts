import { type Json, isJsonObject, plainText } from '../base/json.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import { isWithin } from '../event/place.ts'
import { callText } from './call-text.ts'
import type { ComparedCall } from './matching.ts'

const recordAnew = 'If the change is intended, record the run again with --record.'

/**
 * The error of a replayed run that does something different than recorded: names the place and both calls, with their
 * inputs compared line by line.
 */
export function differenceAt(
  place: string,
  {
    now,
    recorded,
    why,
  }: { readonly now: ComparedCall; readonly recorded: ComparedCall | undefined; readonly why?: string },
): BatonError {
  const nowText = shortText(now)
  if (recorded === undefined) {
    const hint = why === undefined ? recordAnew : `${why} ${recordAnew}`
    return diverged(`at ${place} it calls ${nowText}, but the record has nothing there`, { hint })
  }
  const recordedText = shortText(recorded)
  const what =
    nowText === recordedText
      ? `at ${place} the input of ${nowText} is not what was recorded`
      : `at ${place} it calls ${nowText}, but the record has ${recordedText}`
  const diff = unifiedDiff(fullText(recorded), fullText(now), { from: 'recorded', to: 'now' })
  return diverged(what, { hint: recordAnew, diff })
}

/** The error of a replayed run that ended without making all recorded calls. */
export function leftOver(calls: readonly { readonly place: string; readonly call: ComparedCall }[]): BatonError {
  const lines = calls.slice(0, 5).map(({ place, call }) => `  ${shortText(call)} at ${place}`)
  const more = calls.length > lines.length ? [`  and ${calls.length - lines.length} more`] : []
  const what = calls.length === 1 ? 'a call that was recorded' : `${calls.length} calls that were recorded`
  return diverged(`it ended without ${what}:\n${[...lines, ...more].join('\n')}`, { hint: recordAnew })
}

/** The error of a replayed run that reaches the point where its record ends. */
export function brokenOff(place: string, call: ComparedCall | undefined): BatonError {
  const what = call === undefined ? '' : ` while it called ${shortText(call)}`
  return new BatonError('DIVERGED', `the recorded run was interrupted${what} at ${place}`, {
    hint: 'Finish it with baton resume, then replay it.',
  })
}

function diverged(what: string, details: { readonly hint: string; readonly diff?: string | undefined }): BatonError {
  return new BatonError('DIVERGED', `this run differs from its record: ${what}`, details)
}

function fullText({ name, request }: ComparedCall): string {
  return requestText({ call: name, with: request })
}

/** For a model call only the model, for a file change only the file: the rest is in the comparison. */
function shortText({ name, request }: ComparedCall): string {
  if (name === 'model' && isJsonObject(request)) return `model(${plainText(request['provider'] ?? null)})`
  if (name === 'file' && isJsonObject(request))
    return `file(${plainText(request['op'] ?? null)} ${plainText(request['path'] ?? null)})`
  return callText(name, request)
}

/**
 * Stops a replayed run at its first difference, so that the displayed error is that difference, with its line of a
 * script.
 */
export interface FirstDifference {
  /** Throws if there was a difference. */
  readonly check: () => void
  /** Throws the difference, or a notice that there was an earlier one. */
  readonly stop: (place: string, error: BatonError) => never
  /** Runs the work of a boundary. A difference that was caught inside is thrown at its end. */
  readonly around: <T>(place: string, work: () => Promise<T>) => Promise<T>
  /** The difference for display; `thrown` is the error the run failed with, which may have more details. */
  readonly error: (thrown?: unknown) => BatonError | undefined
}

interface Found {
  readonly error: BatonError
  /** The innermost boundary it was found in. */
  readonly boundary: string | undefined
  /** Settles when the work of that boundary has ended. */
  readonly left: Promise<void>
}

export function createFirstDifference(): FirstDifference {
  const active = new Map<string, Promise<void>>()
  let found: Found | undefined
  /** The difference with its script line, as thrown by the boundary around it. */
  let shown: BatonError | undefined

  function later(): BatonError {
    return new BatonError('DIVERGED', 'stopped, because another part of the run differs from its record')
  }

  /** Another part that stops must not end the run before the line of the difference is known. */
  async function failed(place: string, error: unknown): Promise<void> {
    if (found === undefined) return
    const { boundary, left } = found
    if (boundary === place && comesFrom(error, found.error)) shown ??= error
    else if (boundary !== undefined && !isWithin(place, boundary)) await left
  }

  return {
    check() {
      if (found !== undefined) throw later()
    },
    stop(place, error) {
      if (found !== undefined) throw later()
      const [boundary] = [...active.keys()]
        .filter((one) => isWithin(place, one))
        .toSorted((left, right) => right.length - left.length)
      found = {
        error,
        boundary,
        left: (boundary === undefined ? undefined : active.get(boundary)) ?? Promise.resolve(),
      }
      throw error
    },
    async around(place, work) {
      let leave = (): void => {}
      active.set(place, new Promise((resolve) => (leave = resolve)))
      try {
        const value = await work()
        if (found !== undefined) throw found.boundary === place ? found.error : later()
        return value
      } catch (error) {
        await failed(place, error)
        throw error
      } finally {
        active.delete(place)
        leave()
      }
    },
    error: (thrown) => (found !== undefined && comesFrom(thrown, found.error) ? thrown : (shown ?? found?.error)),
  }
}

function comesFrom(thrown: unknown, error: BatonError): thrown is BatonError {
  for (let cause = thrown; isBatonError(cause); cause = cause.cause) if (cause === error) return true
  return false
}

/**
 * A request as text for display, one item per line. Texts of several lines are kept, indented, so that a changed line
 * of a prompt is one changed line here. Meant for comparison, not for parsing. Ends with a line feed.
 */
function requestText(value: Json): string {
  return `${block(value, '').join('\n')}\n`
}

function block(value: Json, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) {
    return (value as readonly Json[]).flatMap((item) => named(`${indent}-`, item, `${indent}  `))
  }
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, item]) => named(`${indent}${key}:`, item, `${indent}  `))
  }
  return [`${indent}${plainText(value)}`]
}

function named(name: string, value: Json, indent: string): readonly string[] {
  if (typeof value === 'string' && value.includes('\n')) {
    return [`${name} |`, ...value.split('\n').map((line) => `${indent}${line}`)]
  }
  const isInline = typeof value !== 'object' || value === null || Object.keys(value).length === 0
  return isInline ? [`${name} ${plainText(value)}`] : [name, ...block(value, indent)]
}
