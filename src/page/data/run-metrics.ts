import type { Comparison } from '../live/wire.ts'
import { costText, countText, durationText } from './format.ts'

/** One figure of two runs, side by side. */
export interface Metric {
  readonly name: string
  readonly before: string
  readonly after: string
  /** The difference with its sign; empty without one. */
  readonly change: string
  /** Whether the difference is welcome; undefined: neither. */
  readonly isBetter: boolean | undefined
}

/** The figures of two runs. Of cost, tokens and time less is better, of the score more. */
export function metricsOf({
  before,
  after,
  scores,
}: Pick<Comparison, 'before' | 'after' | 'scores'>): readonly Metric[] {
  const tokens = ({ tokens: { input, output } }: Comparison['before']): number => input + output
  return [
    metric('Cost', [before.cost_usd, after.cost_usd], { text: costText, less: true }),
    metric('Tokens', [tokens(before), tokens(after)], { text: countText, less: true }),
    metric('Model calls', [before.calls, after.calls], { text: String, less: true }),
    metric('Time', [before.duration_ms, after.duration_ms], { text: durationText, less: true }),
    ...(scores.before === null && scores.after === null
      ? []
      : [metric('Best score', [scores.before, scores.after], { text: String, less: false })]),
  ]
}

interface Shape {
  readonly text: (value: number) => string
  /** Less is better. */
  readonly less: boolean
}

function metric(name: string, [before, after]: readonly [number | null, number | null], { text, less }: Shape): Metric {
  const shown = (value: number | null): string => (value === null ? '–' : text(value))
  const difference = before === null || after === null ? 0 : after - before
  return {
    name,
    before: shown(before),
    after: shown(after),
    change: difference === 0 ? '' : changeText(difference, before ?? 0, text),
    isBetter: difference === 0 ? undefined : difference < 0 === less,
  }
}

/** `+12 ms`, `−$0.002 (−40%)`. */
function changeText(difference: number, before: number, text: (value: number) => string): string {
  const sign = difference > 0 ? '+' : '−'
  const share = before === 0 ? '' : ` (${sign}${Math.round((100 * Math.abs(difference)) / Math.abs(before))}%)`
  return `${sign}${text(Number(Math.abs(difference).toPrecision(10)))}${share}`
}
