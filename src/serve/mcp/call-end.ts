import { messageOf, isBatonError } from '../../base/error.ts'
import { type Json, type JsonObject, mapTexts, plainText } from '../../base/json.ts'
import type { ApprovalView } from '../../event/action-view.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import type { PendingQuestion, RunEnd } from './pending-calls.ts'
import { answerValue, type Offer } from './offer.ts'

/** The outcome of a call of an offer, or what it waits for. */
export type CallEnd =
  | {
      readonly kind: 'ended'
      readonly runId: string
      readonly text: string
      readonly value?: JsonObject
      readonly isError: boolean
    }
  /** The run is recorded, and continues with the answers. */
  | { readonly kind: 'approvals'; readonly runId: string; readonly questions: readonly ApprovalView[] }
  /** MCP servers of the run ask questions, during their calls in this process. */
  | { readonly kind: 'questions'; readonly runId: string; readonly questions: readonly PendingQuestion[] }

/** The outcome that is reported to a client. `canAsk`: the client can ask its user for approvals. */
export function callEnd({ report, denied, declined }: RunEnd, offer: Offer, canAsk: boolean): CallEnd {
  const { runId, approvals, stopReason } = report
  if (canAsk && stopReason === 'waiting_for_approval' && approvals.length > 0) {
    return { kind: 'approvals', runId, questions: mapTexts(approvals, report.mask) as readonly ApprovalView[] }
  }
  const isError = report.exitCode !== 0
  const value = isError ? undefined : answerValue(valuesOf(report), offer)
  const text = [
    answerText(report),
    ...(isError ? [errorText(report)] : []),
    // the model of the run knows these, but the caller would not know why something was not done
    ...listText('Calls that were not allowed:', denied),
    ...listText('Questions of MCP servers that were declined:', declined),
  ]
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
  const why = error === undefined ? failures.join('; ') : fullErrorText(error)
  const resume = canResume ? ` baton resume ${runId} continues it.` : ''
  return `The run ended with exit code ${exitCode}: ${why.replace(/\.$/, '')}.${resume}`
}

/** Message, place and hint of an error as one text, because a client gets nothing else. */
export function fullErrorText(error: unknown): string {
  const message = messageOf(error).replace(/\.$/, '')
  if (!isBatonError(error)) return message
  const { place, hint } = error
  const where =
    place?.line === undefined ? '' : ` (${[place.file, place.line, place.column].filter(Boolean).join(':')})`
  return `${message}${where}${hint === undefined ? '' : `. ${hint}`}`
}

function listText(head: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${head}\n${items.map((line) => `- ${line}`).join('\n')}`]
}
