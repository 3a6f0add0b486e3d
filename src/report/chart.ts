import type { ScoreCurve } from '../history/report.ts'

/** A score with its name: `before`, or the number of its iteration. Null where there is none. */
interface Point {
  readonly name: string
  readonly score: number | null
}

function pointsOf({ before, points }: ScoreCurve): readonly Point[] {
  const start = before === null ? [] : [{ name: 'before', score: before }]
  return [...start, ...points.map(({ place, score }) => ({ name: place.slice(place.lastIndexOf('/') + 1), score }))]
}

function range(points: readonly Point[]): { readonly least: number; readonly most: number } {
  const scores = points.flatMap(({ score }) => (score === null ? [] : [score]))
  return { least: Math.min(...scores), most: Math.max(...scores) }
}

/** `12 before, 30 at the end, from 8 to 31`. */
export function scoreSummary(scores: ScoreCurve): string {
  const points = pointsOf(scores)
  const known = points.filter(({ score }) => score !== null)
  const { least, most } = range(points)
  const last = known.at(-1)
  return [
    scores.before === null ? 'not measured before the first iteration' : `${scores.before} before the first iteration`,
    ...(last === undefined || last.name === 'before' ? [] : [`${last.score} after iteration ${last.name}`]),
    ...(known.length < 2 ? [] : [`between ${least} and ${most}`]),
  ].join(', ')
}

/** More points are drawn as the last of several. */
const mostColumns = 60
const chartRows = 5
const blocks = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/** A chart of bars, at most 60 columns wide. */
export function chartLines(scores: ScoreCurve): readonly string[] {
  const all = pointsOf(scores)
  const each = Math.ceil(all.length / mostColumns)
  const points = all.filter((_, index) => index % each === each - 1 || index === all.length - 1)
  const { least, most } = range(points)
  if (!Number.isFinite(least)) return []
  // the lowest score is still visible
  const eighths = points.map(({ score }) =>
    score === null
      ? 0
      : Math.round(1 + (most === least ? 0.5 : (score - least) / (most - least)) * (chartRows * 8 - 1)),
  )
  const labels = [String(most), ...Array.from({ length: chartRows - 2 }, () => ''), String(least)]
  const width = Math.max(...labels.map(({ length }) => length))
  const isWide = points.length * 2 <= mostColumns
  return labels.map((label, row) => {
    const floor = (chartRows - 1 - row) * 8
    const bars = eighths.map((height) => blocks[Math.min(8, Math.max(0, height - floor))] ?? '').join(isWide ? ' ' : '')
    return `${label.padStart(width)} │${bars}`.trimEnd()
  })
}

const size = { width: 640, height: 180, left: 56, right: 12, top: 12, bottom: 32 } as const

/** The same as a line, for HTML. Contains only numbers. */
export function chartSvg(scores: ScoreCurve): string {
  const points = pointsOf(scores)
  const { least, most } = range(points)
  if (!Number.isFinite(least)) return ''
  const x = (index: number): number =>
    size.left + (points.length < 2 ? 0.5 : index / (points.length - 1)) * (size.width - size.left - size.right)
  const y = (score: number): number =>
    size.top + (most === least ? 0.5 : (most - score) / (most - least)) * (size.height - size.top - size.bottom)
  const at = (index: number, score: number): string => `${x(index).toFixed(1)} ${y(score).toFixed(1)}`
  let path = ''
  for (const [index, { score }] of points.entries()) {
    if (score !== null) path += `${typeof points[index - 1]?.score === 'number' ? 'L' : 'M'}${at(index, score)}`
  }
  const dots = points.flatMap(({ name, score }, index) =>
    score === null
      ? []
      : [
          `<circle cx="${x(index).toFixed(1)}" cy="${y(score).toFixed(1)}" r="3"><title>${name}: ${score}</title></circle>`,
        ],
  )
  const every = Math.ceil(points.length / 12)
  const names = points.flatMap(({ name }, index) =>
    index % every === 0
      ? [`<text x="${x(index).toFixed(1)}" y="${size.height - 8}" text-anchor="middle">${name}</text>`]
      : [],
  )
  const levels = (most === least ? [most] : [most, least]).map(
    (score) =>
      `<text x="${size.left - 8}" y="${(y(score) + 4).toFixed(1)}" text-anchor="end">${score}</text>` +
      `<line x1="${size.left}" x2="${size.width - size.right}" y1="${y(score).toFixed(1)}" y2="${y(score).toFixed(1)}"/>`,
  )
  return [
    `<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="Score of each iteration: ${scoreSummary(scores)}">`,
    ...levels,
    `<path d="${path}"/>`,
    ...dots,
    ...names,
    '</svg>',
  ].join('')
}
