/** A period of activity in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A mark on the axis: its position in percent, and its time. */
interface Tick {
  readonly at: number
  /** Milliseconds since the start of the axis, excluding breaks. */
  readonly ms: number
}

/** An idle period, drawn narrow; in percent of the axis. */
interface Break {
  readonly at: number
  readonly width: number
  readonly ms: number
}

/** Maps times to positions on an axis, in percent. */
export interface TimeScale {
  readonly span: Span
  readonly breaks: readonly Break[]
  readonly ticks: readonly Tick[]
  /** @param time milliseconds since 1970 */
  position(time: number): number
}

/** A segment of the axis: a period of activity, or a break. */
interface Stretch extends Span {
  readonly at: number
  readonly width: number
}

/** Width of a break, as a fraction of the active time. */
const breakShare = 0.03
/** Breaks up to this fraction of the active time are shown to scale. */
const shortBreak = 0.15

/**
 * Creates an axis for spans, which may overlap and be in any order. Long idle periods are narrow, so that a run that
 * waited overnight stays readable.
 */
export function createTimeScale(spans: readonly Span[]): TimeScale {
  const busy = merged(spans)
  const worked = busy.reduce((sum, { from, to }) => sum + to - from, 0)
  const pieces = withoutShortBreaks(busy, Math.max(1, worked * shortBreak))
  const shown = Math.max(
    1,
    pieces.reduce((sum, { from, to }) => sum + to - from, 0),
  )
  const unit = 100 / (shown * (1 + breakShare * Math.max(0, pieces.length - 1)))
  const stretches: Stretch[] = []
  const breaks: Break[] = []
  let at = 0
  for (const [index, { from, to }] of pieces.entries()) {
    const before = pieces[index - 1]
    if (before !== undefined) {
      const width = shown * breakShare * unit
      stretches.push({ from: before.to, to: from, at, width })
      breaks.push({ at, width, ms: from - before.to })
      at += width
    }
    stretches.push({ from, to, at, width: (to - from) * unit })
    at += (to - from) * unit
  }
  const span = { from: pieces[0]?.from ?? 0, to: pieces.at(-1)?.to ?? 0 }
  return { span, breaks, ticks: ticksOf(pieces, stretches), position: (time) => positionIn(stretches, time) }
}

/** Room that the label of a tick needs, in percent of the axis. */
const labelRoom = 8

/** The ticks whose labels overlap neither each other nor a break, and stay on the axis. */
export function labelledTicks({ ticks, breaks }: Pick<TimeScale, 'ticks' | 'breaks'>): readonly Tick[] {
  const shown: Tick[] = []
  for (const tick of ticks) {
    const { at } = tick
    const last = shown.at(-1)
    const isOnBreak = breaks.some((one) => at + labelRoom > one.at && at < one.at + one.width - 1e-6)
    if (at > 100 - labelRoom / 2 || isOnBreak || (last !== undefined && at - last.at < labelRoom)) continue
    shown.push(tick)
  }
  return shown
}

/** Merges spans that touch or overlap. */
function merged(spans: readonly Span[]): readonly Span[] {
  const all: { from: number; to: number }[] = []
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = all.at(-1)
    if (last === undefined || from > last.to) all.push({ from, to: Math.max(from, to) })
    else last.to = Math.max(last.to, to)
  }
  return all
}

function withoutShortBreaks(spans: readonly Span[], shortest: number): readonly Span[] {
  const all: { from: number; to: number }[] = []
  for (const { from, to } of spans) {
    const last = all.at(-1)
    if (last === undefined || from - last.to > shortest) all.push({ from, to })
    else last.to = to
  }
  return all
}

function positionIn(stretches: readonly Stretch[], time: number): number {
  let [low, high] = [0, stretches.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((stretches[middle]?.to ?? 0) < time) low = middle + 1
    else high = middle
  }
  const stretch = stretches[low]
  if (stretch === undefined) return 0
  const part = stretch.to === stretch.from ? 0 : (time - stretch.from) / (stretch.to - stretch.from)
  return stretch.at + stretch.width * Math.min(1, Math.max(0, part))
}

const mostTicks = 6

/** Marks at round times, counted from the start without the breaks. */
function ticksOf(pieces: readonly Span[], stretches: readonly Stretch[]): readonly Tick[] {
  const total = pieces.reduce((sum, { from, to }) => sum + to - from, 0)
  const step = roundStep(total / mostTicks)
  const ticks: Tick[] = []
  let passed = 0
  for (const { from, to } of pieces) {
    for (let ms = Math.ceil(passed / step) * step; ms < passed + to - from; ms += step) {
      ticks.push({ at: positionIn(stretches, from + ms - passed), ms })
    }
    passed += to - from
  }
  return ticks
}

const roundSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5]
const hour = 3_600_000

/** Milliseconds between two marks, a round number. */
function roundStep(least: number): number {
  return roundSteps.find((step) => step >= least) ?? Math.ceil(least / hour) * hour
}
