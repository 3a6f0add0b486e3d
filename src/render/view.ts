import { formatClock, formatCount, oneLine } from './format.ts'
import type { Frame } from './frame.ts'
import type { Lane } from './lane.ts'
import { fitLine, joinWhole, type Line, type Segment } from './line.ts'
import type { Progress } from './progress.ts'
import { totalsOf } from './totals.ts'
import { cutMiddle, cutStart, widthOf } from './width.ts'

const mostLines = 8
const leastColumns = 10

/**
 * The live view: a head with the totals, then what is going on, oldest first. A third of the screen at most, each line
 * narrower than the screen; nothing on a screen without room.
 */
export function composeView(progress: Progress, frame: Frame): readonly Line[] {
  const most = Math.min(mostLines, Math.floor(frame.rows / 3))
  if (most < 1 || frame.columns < leastColumns) return []
  const lanes = visibleLanes(progress.lanes)
  // the last column stays free: some terminals wrap once it is written to
  const room = { columns: frame.columns - 1, paint: frame.paint }
  const head = joinWhole([...totalsOf(progress, frame), ...firstOf(progress, lanes)], room)
  const lines = progress.planned > 1 || lanes.length > 1 ? manyLanes : onlyLane
  return [head, ...lines(lanes, most - 1, { ...frame, ...room })]
}

/** The agent that is the target is not told apart from its inputs while these are there. */
function visibleLanes(lanes: Progress['lanes']): readonly Lane[] {
  const all = [...lanes.values()]
  return all.length > 1 ? all.filter(({ key }) => !/(?:^|\/)main$/.test(key)) : all
}

function firstOf({ finished }: Progress, lanes: readonly Lane[]): readonly Segment[] {
  return lanes.length === 0 && finished === 0 ? [{ text: 'starting' }] : []
}

function manyLanes(lanes: readonly Lane[], most: number, frame: Frame): readonly Line[] {
  if (most < 1) return []
  const shown = lanes.length <= most ? lanes : lanes.slice(0, most - 1)
  const longest = Math.max(0, ...shown.map(({ label }) => widthOf(label)))
  const labelWidth = Math.min(longest, Math.floor(frame.columns * 0.4))
  const lines = shown.map((lane) => laneLine(lane, labelWidth, frame))
  return shown.length === lanes.length ? lines : [...lines, moreLine(lanes.slice(shown.length), frame)]
}

const indent: Segment = { text: '  ' }

/** The task of a run that has no other has a line more: the end of what streams in. */
function onlyLane([lane]: readonly Lane[], most: number, frame: Frame): readonly Line[] {
  if (lane === undefined) return []
  const line = fitLine([indent, { text: cutMiddle(lane.label, frame.columns - 2) }, ...stepsOf(lane, frame)], frame)
  const tail = tailOf(lane, frame.columns - 2)
  const lines = tail === '' ? [line] : [line, fitLine([indent, { text: tail, format: 'dim' }], frame)]
  return lines.slice(0, most)
}

const leastTail = 12

function laneLine(lane: Lane, labelWidth: number, frame: Frame): Line {
  const label = cutMiddle(lane.label, labelWidth)
  const padding = ' '.repeat(Math.max(0, labelWidth - widthOf(label)))
  const segments = [indent, { text: label + padding }, ...stepsOf(lane, frame)]
  const left = frame.columns - segments.reduce((sum, { text }) => sum + widthOf(text), 0) - 2
  const tail = left < leastTail ? '' : tailOf(lane, left)
  return fitLine([...segments, ...(tail === '' ? [] : [{ text: `  ${tail}`, format: 'dim' } as const])], frame)
}

function moreLine(lanes: readonly Lane[], frame: Frame): Line {
  const waiting = lanes.filter(({ activity }) => activity.kind === 'retry').length
  const retries = waiting === 0 ? '' : `, ${formatCount(waiting)} of them to be tried again`
  return fitLine([{ text: `  + ${formatCount(lanes.length)} more${retries}`, format: 'dim' }], frame)
}

/** `  pre_task code-map answering 12s`. */
function stepsOf(lane: Lane, { now }: Frame): readonly Segment[] {
  const steps = [stagePart(lane), agentPart(lane)].filter((part) => part !== '').join(' ')
  const activity = activityOf(lane, now)
  return [
    ...(steps === '' ? [] : [{ text: `  ${steps}`, format: 'cyan' } as const]),
    { text: `  ${formatClock(now - lane.since)}`, format: 'dim' },
    ...(activity.text === '' ? [] : [{ ...activity, text: `  ${activity.text}` }]),
  ]
}

function stagePart({ stage, label }: Lane): string {
  return stage === label ? '' : stage
}

/** The agent that began last, and how many others run in the same lane. */
function agentPart({ key, agents }: Lane): string {
  const names = [...agents].filter(([place, name]) => place !== key && name !== '').map(([, name]) => name)
  const last = names.at(-1)
  if (last === undefined) return ''
  const outer = names.length - 1
  return outer === 0 ? last : `${last} (+${outer})`
}

function activityOf({ activity }: Lane, now: number): Segment {
  switch (activity.kind) {
    case 'none':
      return { text: '' }
    case 'asking':
      return { text: activity.model === undefined ? 'asking the model' : `asking ${activity.model}` }
    case 'thinking':
      return { text: 'thinking' }
    case 'answering':
      return { text: 'answering' }
    case 'retry': {
      const wait = activity.until - now
      if (wait <= 0) return { text: 'asking the model again' }
      return { text: `retry in ${formatClock(wait + 999)}: ${activity.message}`, format: 'yellow' }
    }
  }
}

function tailOf({ tail }: Lane, columns: number): string {
  return cutStart(oneLine(tail).trim(), columns)
}
