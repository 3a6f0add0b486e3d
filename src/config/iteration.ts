/** How long a prompt is iterated. Durations are in seconds. */
export type IterationCondition =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'duration'; readonly seconds: number }

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

const longestSeconds = 1_000_000_000

/** Reads `5`, `90s`, `10m`, `2h` or `1d`; undefined for anything else. */
export function parseCondition(text: string): IterationCondition | undefined {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,9})([smhd]?)$/.exec(text.trim()) ?? []
  if (digits === '') return undefined
  const count = Number(digits)
  if (unit === '') return { kind: 'count', count }
  const seconds = count * (unitSeconds[unit] ?? 0)
  return seconds > longestSeconds ? undefined : { kind: 'duration', seconds }
}

/** What a condition must be, for the end of a message. */
export const conditionForms = 'a count ("5") or a duration ("30m", "2h", "1d")'

/** For people: `5 iterations`, `10m`. */
export function conditionText(condition: IterationCondition): string {
  if (condition.kind === 'count') return `${condition.count} iteration${condition.count === 1 ? '' : 's'}`
  const [unit, size] =
    Object.entries(unitSeconds).findLast(([, seconds]) => condition.seconds % seconds === 0) ?? (['s', 1] as const)
  return `${condition.seconds / size}${unit}`
}

/** Keywords of `summarizer` that are no names of agents. */
const summarizers: ReadonlySet<string> = new Set(['files', 'llm'])

/** The agent that summarizes iterations, as it is named; undefined: none is needed. */
export function summarizerName(iterate: { readonly summarizer: string } | undefined): string | undefined {
  const name = iterate?.summarizer
  return name === undefined || summarizers.has(name) ? undefined : name
}
