import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { LiveTexts } from '../data/live-texts.ts'
import { isModelCall, type Row } from '../data/row.ts'
import { fetchSteps } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { LiveText } from './live-text.tsx'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import { numberOf, subjectOf } from '../data/format.ts'
import type { RunStep } from '../live/wire.ts'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { StateDot } from './state-badge.tsx'

interface StepsProps {
  readonly steps: readonly RunStep[]
  /** How many earlier ones are not shown. */
  readonly earlier: number
  /** Whether the run goes on, so that a call without a result is in progress. */
  readonly goesOn: boolean
}

/** What an agent did before its answer: what it said, and its tool calls, which open to show arguments and results. */
export function Steps({ steps, earlier, goesOn }: StepsProps): VNode | null {
  if (steps.length === 0) return null
  return (
    <ol class="steps" aria-label="Steps">
      {earlier > 0 && <li class="about">{numberOf(earlier, 'earlier step')} not shown</li>}
      {steps.map((step, index) => (
        <li key={index}>
          {step.kind === 'said' ? <Markdown text={step.text} /> : <ToolStep step={step} goesOn={goesOn} />}
        </li>
      ))}
    </ol>
  )
}

interface LiveStepsProps {
  readonly run: string
  readonly rows: readonly Row[]
  readonly version: number
  readonly texts: LiveTexts
}

/** The steps of a run that goes on, and what its model is writing. */
export function LiveSteps({ run, rows, version, texts }: LiveStepsProps): VNode {
  const [loaded, again] = useLoaded(run, () => fetchSteps(run))
  const calls = useMemo(() => rows.filter(isModelCall), [rows, version])
  // what a model said, and its tool calls, are recorded when its call has ended; their results with the next one
  const recorded = calls.length + calls.filter(({ end }) => end !== undefined).length
  useEffect(again, [recorded])
  const { steps, earlier } = loaded.kind === 'here' ? loaded.value : { steps: [], earlier: 0 }
  const shown = new Set(steps.map(({ place }) => place))
  return (
    <>
      <Steps steps={steps} earlier={earlier} goesOn />
      {[...texts].flatMap(([place, text]) => (shown.has(place) ? [] : [<LiveText key={place} text={text} />]))}
    </>
  )
}

interface ToolStepProps {
  readonly step: Extract<RunStep, { readonly kind: 'tool' }>
  readonly goesOn: boolean
}

function ToolStep({ step, goesOn }: ToolStepProps): VNode {
  const { name, input, state, result } = step
  const shown = state === 'called' ? (goesOn ? 'running' : 'interrupted') : state
  return (
    <details class="tool-step">
      <summary>
        <StateDot state={shown} /> <span class="tag">{harmlessName(name)}</span> <code>{subjectOf(input)}</code>
      </summary>
      <LongText text={harmlessLines(JSON.stringify(input, undefined, 2))} />
      {result !== '' && <LongText text={harmlessLines(result)} />}
    </details>
  )
}
