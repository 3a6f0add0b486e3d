import { messageOf, isBatonError } from '../../base/error.ts'
import { defined, isObject, type Json, type JsonObject, mapTexts, plainText } from '../../base/json.ts'
import type { ApprovalView } from '../../event/asked-action.ts'
import type { RunEvent } from '../../event/event.ts'
import { answerCalls } from '../../library/approvals.ts'
import type { PlaceOptions, RunOptions } from '../../library/options.ts'
import { beginResume, beginRun, type Run } from '../../library/runs.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { answerValue, type Offer } from './offer.ts'

/** How a call of an offer has ended, or what it waits for. */
export type CallEnd =
  | {
      readonly kind: 'ended'
      readonly runId: string
      readonly text: string
      readonly value?: JsonObject
      readonly isError: boolean
    }
  /** The run is recorded, and goes on with `answerCall`. */
  | { readonly kind: 'asks'; readonly runId: string; readonly questions: readonly ApprovalView[] }

/** What a person says to a question. */
export interface Answer {
  /** The number of the question. */
  readonly id: string
  readonly decision: 'allow' | 'deny'
  /** Told to the model. */
  readonly reason?: string
}

/** What all calls of a server share: where they work, and settings that win over files. */
export interface Serving extends Required<PlaceOptions> {
  readonly shared: Pick<RunOptions, 'model' | 'overrides' | 'timeout'>
}

export interface Calling {
  readonly signal: AbortSignal
  /** Whether the client can ask a person; otherwise what needs an approval is refused, and the model is told so. */
  readonly canAsk: boolean
  /** Told in a few words what happens. */
  readonly onProgress: (message: string) => void
}

/** Runs an offer with the arguments of a client, which its schema has checked. */
export function startCall(
  offer: Offer,
  input: JsonObject,
  { calling, serving }: { readonly calling: Calling; readonly serving: Serving },
): Promise<CallEnd> {
  const { shared, ...place } = serving
  const options = { ...shared, ...givenTo(offer, input), ...asking(calling), signal: calling.signal }
  return explained(ended(beginRun(offer.file, options, place), offer, calling))
}

/** Records what was said to the questions of a run, and goes on with it. */
export function answerCall(
  offer: Offer,
  given: { readonly runId: string; readonly answers: readonly Answer[] },
  around: { readonly calling: Calling; readonly serving: Serving },
): Promise<CallEnd> {
  return explained(continued(offer, given, around))
}

async function continued(
  offer: Offer,
  { runId, answers }: { readonly runId: string; readonly answers: readonly Answer[] },
  { calling, serving }: { readonly calling: Calling; readonly serving: Serving },
): Promise<CallEnd> {
  const { shared, ...place } = serving
  const { timeout, overrides } = shared
  for (const { id, decision, reason } of answers) {
    const verdict = decision === 'allow' ? ({ kind: 'approve' } as const) : ({ kind: 'reject', reason } as const)
    await answerCalls(runId, verdict, { ...place, ...defined({ overrides }), call: id })
  }
  const options = { ...defined({ timeout, overrides }), ...asking(calling), signal: calling.signal }
  return ended(beginResume(runId, options, place), offer, calling)
}

/** A question is left open: the client is asked once the rest of the run has come as far as it can. */
function asking({ canAsk }: Calling): Pick<RunOptions, 'approve'> {
  return canAsk ? { approve: () => 'suspend' } : {}
}

function givenTo({ target }: Offer, input: JsonObject): Pick<RunOptions, 'vars' | 'stdin' | 'inputs'> {
  if (target.kind === 'agent') return input['input'] === undefined ? {} : { inputs: [input['input']] }
  const { [target.context]: context, ...vars } = input
  return { vars, ...(typeof context === 'string' && context !== '' ? { stdin: context } : {}) }
}

/** What was thrown is all that the client is told: where it is and what to do are part of it then. */
async function explained(end: Promise<CallEnd>): Promise<CallEnd> {
  try {
    return await end
  } catch (error) {
    throw isBatonError(error) ? new Error(wordsOf(error), { cause: error }) : error
  }
}

function wordsOf(error: unknown): string {
  const message = messageOf(error).replace(/\.$/, '')
  if (!isBatonError(error)) return message
  const { place, hint } = error
  const where =
    place?.line === undefined ? '' : ` (${[place.file, place.line, place.column].filter(Boolean).join(':')})`
  return `${message}${where}${hint === undefined ? '' : `. ${hint}`}`
}

async function ended(run: Run, offer: Offer, { canAsk, onProgress }: Calling): Promise<CallEnd> {
  const denied: string[] = []
  for await (const event of run) {
    if (event.type === 'tool.completed' && event.denied === true) denied.push(`${event.name}: ${event.output}`)
    const message = progressOf(event)
    if (message !== undefined) onProgress(message)
  }
  const report = await run.result
  const { runId, approvals, stopReason } = report
  if (canAsk && stopReason === 'waiting_for_approval' && approvals.length > 0) {
    return { kind: 'asks', runId, questions: mapTexts(approvals, report.mask) as readonly ApprovalView[] }
  }
  const isError = report.exitCode !== 0
  const value = isError ? undefined : answerValue(valuesOf(report), offer)
  const text = [answerText(report), ...(isError ? [errorText(report)] : []), ...deniedText(denied)]
  return {
    kind: 'ended',
    runId,
    text: report.mask(text.filter((part) => part !== '').join('\n\n')),
    isError,
    ...(value === undefined ? {} : { value: mapTexts(value, report.mask) as JsonObject }),
  }
}

function answerText({ tasks, outputs, skipped }: RunReport): string {
  const answers = tasks.map((task) => (task.status === 'done' ? task.content.trim() : ''))
  const results = outputs.filter((output) => output !== null).map(plainText)
  return [...answers, ...results, ...(skipped === undefined ? [] : [skipped.reason])].filter(Boolean).join('\n\n')
}

function valuesOf({ tasks }: RunReport): readonly Json[] {
  return tasks.flatMap((task) => (task.status === 'done' && task.value !== undefined ? [task.value] : []))
}

function errorText({ error, tasks, exitCode, runId, canResume }: RunReport): string {
  const failures = tasks.flatMap((task) => (task.status === 'failed' ? [task.error.message] : []))
  const why = error === undefined ? failures.join('; ') : wordsOf(error)
  const resume = canResume ? ` baton resume ${runId} continues it.` : ''
  return `The run ended with exit code ${exitCode}: ${why.replace(/\.$/, '')}.${resume}`
}

/** The model was told already; whoever calls would otherwise not know why something was not done. */
function deniedText(denied: readonly string[]): readonly string[] {
  return denied.length === 0 ? [] : [`Calls that were not allowed:\n${denied.map((line) => `- ${line}`).join('\n')}`]
}

function progressOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'agent.started':
    case 'step.started':
      return isObject(event) && typeof event.name === 'string' ? event.name : undefined
    case 'tool.started':
      return `calls ${event.name}`
    case 'tool.progress':
      return event.ended === true ? undefined : toolProgress(event)
    case 'task.completed':
      return 'a task is done'
    case 'iteration.completed':
      return 'an iteration is done'
    default:
      return undefined
  }
}

/** In the words of the server whose tool it is: `files__index: 3 of 10: reading notes.txt`. */
function toolProgress({ name, done, total, message }: Extract<RunEvent, { readonly type: 'tool.progress' }>): string {
  const amount = total === undefined ? `${done}` : `${done} of ${total}`
  return [name, amount, ...(message === undefined ? [] : [message])].join(': ')
}
