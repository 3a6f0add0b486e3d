import { sha256 } from '../base/hash.ts'
import type { RunContext } from '../event/context.ts'
import type { TranscriptBlock } from '../prompt/transcript-text.ts'
import { nothingSpent, type Spent } from './answer.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TaskOutcome } from './task.ts'
import { rewriteTranscript } from './transcript.ts'

export interface Transcript {
  readonly outcomes: readonly TaskOutcome[]
  readonly hide: (text: string) => string
}

/**
 * Writes the answers of a run below the `====` line of its prompt file, when it has one (DESIGN 4). A run that answered
 * nothing leaves the answers of the last one alone, and so does a dry one.
 * @throws BatonError FILE_FAILED
 */
export function keepTranscript({ spec }: PromptTarget, { outcomes, hide }: Transcript, context: RunContext): void {
  if (
    spec.source === 'text' ||
    spec.document.transcriptLine === undefined ||
    context.dry !== undefined ||
    !outcomes.some(isAnswered)
  )
    return
  const answers = outcomes
    .toSorted((left, right) => left.index - right.index)
    .map((outcome) => ({ runId: context.runId, label: outcome.label, ...factsOf(outcome) }))
  // a run that goes on and comes to other answers writes them, although it has written some before
  const at = [...context.at, 'transcript', sha256(JSON.stringify(answers)).slice(0, 12)]
  const now = { name: 'time.now', args: [] }
  const time = new Date(context.effects.observe([...at, 'time'], now, () => context.now().getTime()))
  rewriteTranscript({ file: spec.file, blocks: answers.map((answer) => ({ time, ...answer })), hide }, { context, at })
}

function isAnswered(outcome: TaskOutcome): boolean {
  return outcome.status === 'done' || (outcome.status === 'failed' && outcome.answer !== undefined)
}

type Facts = Pick<TranscriptBlock, 'model' | 'usage' | 'costUsd' | 'result'>

function factsOf(outcome: TaskOutcome): Facts {
  switch (outcome.status) {
    case 'done':
      return { ...spentFacts(outcome.spent), result: { kind: 'answer', text: outcome.content } }
    case 'skipped':
      return { ...spentFacts(nothingSpent), result: { kind: 'skipped', reason: outcome.reason } }
    case 'failed': {
      const { answer, error } = outcome
      if (answer === undefined)
        return { ...spentFacts(nothingSpent), result: { kind: 'failed', message: error.message } }
      return {
        ...spentFacts(answer.spent),
        result: { kind: 'answer', text: `error: ${error.message}\n\n${answer.text}` },
      }
    }
  }
}

function spentFacts({ model, usage, costUsd }: Spent): Omit<Facts, 'result'> {
  return { model, usage, costUsd }
}
