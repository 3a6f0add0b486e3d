import type { FileCall } from '../tool/workspace-files.ts'
import { type Ending, partialAnswer, suspensionReason } from './ending.ts'
import type { Execution } from './execute.ts'
import type { InputOptions } from '../load/inputs.ts'
import { type PromptOutcome, runPrompt } from './prompt-run.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import type { TaskOutcome } from './strategy.ts'
import { BatonError, isBatonError, isSuspension, messageOf } from '../base/error.ts'
import {
  displayPath,
  isInside,
  escapingLink,
  maxSourceBytes,
  newTemporaryName,
  readSourceFile,
  realPath,
  replaceFile,
} from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import { emit, type RunContext, type Sender } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { nothingSpent, type Spent } from '../event/meter.ts'
import { item, part } from '../event/place.ts'
import { replaceTranscript, type TranscriptBlock, transcriptText } from '../prompt/transcript-text.ts'

/** Runs a prompt file to its end and keeps its transcript; see `execute`. */
export async function executePrompt(
  target: PromptTarget,
  given: InputOptions,
  { context, finished, hide, strategies }: Execution,
): Promise<Ending> {
  const failed: TaskOutcome[] = []
  const keep = (): void => keepTranscript(target, { outcomes: [...finished, ...failed], hide }, context)
  const tell = (task: TaskOutcome, count: number): void => {
    const text = resultOf(task)
    if (text === undefined) return
    const { index, label } = task
    context.services.events([], { type: 'answer', index, count, label, text })
  }
  try {
    const outcome = await runPrompt(
      {
        target,
        strategies,
        inputs: given.texts,
        onOutcome: (task, count) => {
          finished.push(task)
          tell(task, count)
        },
        onFailure(task, count) {
          failed.push(task)
          tell(task, count)
        },
      },
      context,
    )
    keep()
    return promptEnding(outcome, target)
  } catch (error) {
    // report the original error, even if keeping the transcript fails, too
    try {
      if (failed.length === 0 && finished.length === 0 && !isSuspension(error)) failed.push(wholeFailure(target, error))
      keep()
    } catch {
      // the original error is thrown below
    }
    throw error
  }
}

/** The failure of a run that no task has, such as that of an agent before the tasks. */
function wholeFailure({ spec }: PromptTarget, error: unknown): TaskOutcome {
  const label = displayPath(spec.workspace, spec.file)
  return { status: 'failed', index: 0, label, error: errorInfo(error), agentResult: null }
}

/** The printed result of a task; of a workflow in which some steps failed, the result of the others. */
function resultOf(task: TaskOutcome): string | undefined {
  if (task.status === 'done') return task.content
  return task.status === 'failed' && task.answer?.isResult === true ? task.answer.text : undefined
}

function promptEnding(outcome: PromptOutcome, { spec }: PromptTarget): Ending {
  if (outcome.status === 'skipped') {
    const { reason, hint } = outcome
    return { stopReason: 'skipped', tasks: [], outputs: [], skipped: { reason, hint } }
  }
  if (outcome.status === 'suspended') {
    const { outcomes: tasks, error } = outcome
    return { stopReason: suspensionReason(error), tasks, outputs: [], error }
  }
  const { outcomes: tasks, repeated } = outcome
  const { gaveUp, unmet } = repeated ?? {}
  if (gaveUp !== undefined) return { stopReason: 'error', tasks, outputs: [], error: gaveUp, isFinal: true }
  if (unmet !== undefined) {
    return { stopReason: 'until_not_met', tasks, outputs: [], error: unmet.error, isFinal: true }
  }
  const partial = partialAnswer(tasks, spec.document)
  if (partial !== undefined) return { stopReason: 'partial', tasks, outputs: [], error: partial }
  const isFailed = tasks.some(({ status }) => status === 'failed')
  // what was repeated to its end is not repeated again, even if it failed
  const isFinal = isFailed && repeated !== undefined
  return { stopReason: isFailed ? 'error' : 'done', tasks, outputs: [], ...(isFinal ? { isFinal } : {}) }
}

interface TranscriptWrite {
  /** Absolute path of the prompt file, which had a `====` line when the run started. */
  readonly file: string
  /** One for each task, in input order. */
  readonly blocks: readonly TranscriptBlock[]
  readonly hide?: (text: string) => string
}

/**
 * Replaces the text below the `====` line of a prompt file. The file is read again, so edits above the line during the
 * run are kept. One file effect and `file.changed`; a link stays a link. Needs no permission, because permissions are
 * about actions of agents, and this is Baton's own write. `gone`: nothing was written and a warning says why: the line
 * or the file no longer exists, the file cannot be read as text, or it would become too long to be read again.
 * @throws BatonError FILE_FAILED if writing fails; the file is then unchanged
 */
export function rewriteTranscript(write: TranscriptWrite, { context, at }: FileCall): 'written' | 'gone' {
  const path = displayPath(context.scope.folders.workspace, write.file)
  let refusal: string | undefined
  const isWritten = context.services.effects.changeFile(at, { op: 'write', path }, () => {
    const change = planChange(write, context.scope.folders.workspace)
    if (change.kind === 'refused') {
      refusal = change.reason
      return undefined
    }
    const { before, after, target } = change
    const temporaryName = newTemporaryName()
    return {
      record: { op: 'write', path, before: sha256(before), after: sha256(after), temp: temporaryName },
      act: (disk) => {
        const place = disk(write.file)
        writeAnswers(place === write.file ? target : place, { after, path, temporaryName })
      },
    }
  })
  if (!isWritten)
    return warn(`the answers were not written to ${path}: ${refusal ?? 'for the same reason as before'}`, context)
  emit(context, { type: 'file.changed', op: 'write', path })
  return 'written'
}

function writeAnswers(
  file: string,
  { after, path, temporaryName }: { readonly after: string; readonly path: string; readonly temporaryName: string },
): void {
  try {
    replaceFile(file, after, { temporaryName })
  } catch (error) {
    throw new BatonError('FILE_FAILED', `the answers cannot be written to ${path}: ${messageOf(error)}`, {
      hint: 'Remove its ==== line to get answers only on stdout.',
      cause: error,
    })
  }
}

type Change =
  | {
      readonly kind: 'change'
      readonly before: string
      readonly after: string
      /** The path of the file, links resolved. */
      readonly target: string
    }
  | { readonly kind: 'refused'; readonly reason: string }

function planChange({ file, blocks, hide }: TranscriptWrite, workspace: string): Change {
  const transcript = transcriptText(blocks)
  try {
    const link = escapingLink(file, (real) => isInside(workspace, real))
    if (link !== undefined) {
      return { kind: 'refused', reason: `it is a link that leads out of the workspace, to ${realPath(file)}` }
    }
    const before = readSourceFile(file)
    const after = replaceTranscript({ file, text: before }, hide === undefined ? transcript : hide(transcript))
    if (after === undefined) return { kind: 'refused', reason: 'its ==== line was removed' }
    if (Buffer.byteLength(after) > maxSourceBytes) {
      return { kind: 'refused', reason: 'it would exceed 10 MB and could not be read again' }
    }
    return { kind: 'change', before, after, target: realPath(file) }
  } catch (error) {
    if (!isBatonError(error)) throw error
    return { kind: 'refused', reason: error.message }
  }
}

function warn(message: string, context: Sender): 'gone' {
  emit(context, { type: 'warning', message, hint: 'They are on stdout and in the record of the run.' })
  return 'gone'
}

interface Transcript {
  readonly outcomes: readonly TaskOutcome[]
  readonly hide: (text: string) => string
}

/**
 * Writes the answers of a run below the `====` line of its prompt file, if it has one, and failures where answers would
 * be. A run without either keeps the answers of the previous run, and so do a dry run and one that was stopped.
 * @throws BatonError FILE_FAILED
 */
function keepTranscript({ spec }: PromptTarget, { outcomes, hide }: Transcript, context: RunContext): void {
  if (
    spec.source === 'text' ||
    spec.document.transcriptLine === undefined ||
    context.scope.dry !== undefined ||
    outcomes.every((outcome) => answerOf(outcome) === undefined && outcome.status !== 'failed')
  )
    return
  const hasAnswer = outcomes.some((outcome) => answerOf(outcome) !== undefined)
  if (!hasAnswer && context.services.signal.aborted) return
  const answers = outcomes
    .toSorted((left, right) => left.index - right.index)
    .map((outcome) => {
      const { model, usage, costUsd } = answerOf(outcome)?.spent ?? nothingSpent
      return {
        runId: context.scope.runId,
        label: outcome.label,
        model,
        usage,
        costUsd,
        result: transcriptResult(outcome),
      }
    })
  // a resumed run that gets different answers writes them, although the run has written some before
  const at = [...context.scope.at, part('transcript'), item(sha256(JSON.stringify(answers)).slice(0, 12))]
  // earlier versions kept the answers before it
  if (!hasAnswer && context.services.effects.lacks?.(at) === true) return
  const now = { name: 'time.now', args: [] }
  const time = new Date(
    context.services.effects.observe([...at, part('time')], now, () => context.services.now().getTime()),
  )
  rewriteTranscript({ file: spec.file, blocks: answers.map((answer) => ({ time, ...answer })), hide }, { context, at })
}

function answerOf(outcome: TaskOutcome): { readonly spent: Spent } | undefined {
  if (outcome.status === 'done') return outcome
  return outcome.status === 'failed' ? outcome.answer : undefined
}

function transcriptResult(outcome: TaskOutcome): TranscriptBlock['result'] {
  switch (outcome.status) {
    case 'done':
      return { kind: 'answer', text: outcome.content }
    case 'skipped':
      return { kind: 'skipped', reason: outcome.reason }
    case 'suspended':
      return { kind: 'skipped', reason: `suspended: ${outcome.error.message}` }
    case 'failed': {
      const { answer, error } = outcome
      if (answer === undefined) return { kind: 'failed', message: error.message }
      return { kind: 'answer', text: `error: ${error.message}\n\n${answer.text}` }
    }
  }
}
