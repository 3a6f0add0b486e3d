import { BatonError } from '../base/error.ts'
import { isJsonObject, type Json } from '../base/json.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import { requestText } from './request-text.ts'
import { callText } from './same-call.ts'

/** A call of a run: what it is, and what it is given. */
export interface ComparedCall {
  readonly name: string
  readonly request: Json
}

const recordAnew = 'When the change is meant, record the run anew with --record.'

/**
 * The error of a replayed run that does not do what was recorded: names the place and both calls, with what they are
 * given compared line by line (DESIGN 11 "Replay").
 */
export function differenceAt(
  place: string,
  {
    now,
    recorded,
    why,
  }: { readonly now: ComparedCall; readonly recorded: ComparedCall | undefined; readonly why: string | undefined },
): BatonError {
  const nowText = shortText(now)
  if (recorded === undefined) {
    const hint = why === undefined ? recordAnew : `${why} ${recordAnew}`
    return new BatonError(
      'DIVERGED',
      `this run differs from its record: at ${place} it calls ${nowText}, and the record has nothing there`,
      { hint },
    )
  }
  const recordedText = shortText(recorded)
  const what =
    nowText === recordedText
      ? `at ${place} what it gives to ${nowText} is not what was recorded`
      : `at ${place} it calls ${nowText}, and the record has ${recordedText}`
  const diff = unifiedDiff(fullText(recorded), fullText(now), { from: 'recorded', to: 'now' })
  return new BatonError('DIVERGED', `this run differs from its record: ${what}`, { hint: recordAnew, diff })
}

/** The error of a replayed run that ended without all that was recorded. */
export function leftOver(calls: readonly { readonly place: string; readonly call: ComparedCall }[]): BatonError {
  const lines = calls.slice(0, 5).map(({ place, call }) => `  ${shortText(call)} at ${place}`)
  const more = calls.length > lines.length ? [`  and ${calls.length - lines.length} more`] : []
  const what = calls.length === 1 ? 'a call that was recorded' : `${calls.length} calls that were recorded`
  return new BatonError(
    'DIVERGED',
    `this run differs from its record: it ended without ${what}:\n${[...lines, ...more].join('\n')}`,
    {
      hint: recordAnew,
    },
  )
}

/** The error of a replayed run that comes to where its record ends. */
export function brokenOff(place: string, call: ComparedCall | undefined): BatonError {
  const what = call === undefined ? '' : ` while it called ${shortText(call)}`
  return new BatonError('DIVERGED', `the recorded run broke off${what} at ${place}`, {
    hint: 'Go on with it by baton resume, then replay it.',
  })
}

function fullText({ name, request }: ComparedCall): string {
  return requestText({ call: name, with: request })
}

/** Of a model call only which model, of a file change only which file: the rest is in the comparison. */
function shortText({ name, request }: ComparedCall): string {
  if (name === 'model' && isJsonObject(request)) return `model(${word(request['provider'])})`
  if (name === 'file' && isJsonObject(request)) return `file(${word(request['op'])} ${word(request['path'])})`
  return callText(name, request)
}

function word(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
