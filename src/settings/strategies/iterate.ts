import type { JsonObject } from '../../base/json.ts'
import { parseDuration } from '../../base/duration.ts'
import { byPrompt, frameTable, type KeyRows, type SettingRow, type Values } from '../setting.ts'

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

const keys = {
  condition: {
    schema: ({ textFor }) => textFor(conditionForms, (value) => parseCondition(value) !== undefined),
    text: 'How long: a count of iterations, for example 5, or a time, for example 30m.',
  },
  context: { schema: ({ flag }) => flag, initial: true, text: 'Tell each iteration what the earlier ones have done.' },
  assessment: {
    schema: ({ either, flag, name }) => either([flag, name], 'true, false or the name of a file'),
    initial: true,
    text: 'First ask each iteration to judge how complex the task is; or the name of a file with other questions, relative to the prompt file.',
  },
  commits: {
    schema: ({ flagOr }) => flagOr('auto'),
    initial: 'auto',
    text: 'Commit what each iteration has changed. auto: only in a clean git work tree.',
  },
  summarizer: {
    schema: ({ name }) => name,
    initial: 'files',
    text: 'What summarizes an iteration: files, llm, or an agent.',
  },
  continuation: {
    schema: ({ text }) => text,
    text: 'With context = false, this text follows the prompt from the second iteration on.',
  },
  plan: {
    schema: ({ name }) => name,
    text: 'The name of a file with a plan that each iteration is shown, relative to the prompt file.',
  },
  on_dirty: {
    schema: ({ oneOf }) => oneOf('abort', 'allow'),
    initial: 'abort',
    text: 'With commits = true: whether there may be uncommitted changes at the start. They are not committed.',
  },
  max_iterations: {
    schema: ({ integer }) => integer(1),
    text: 'The maximum number of iterations, whatever the other conditions. Default: 100 if no count is given.',
  },
  until: { schema: ({ name }) => name, text: 'A command for sh, run after each iteration: exit code 0 ends it.' },
  score: {
    schema: ({ name }) => name,
    text: 'A command for sh that prints a number, run before the first and after each iteration.',
  },
  score_goal: { schema: ({ number }) => number(-1e9, 1e9), text: 'A score as good as this one ends it.' },
  score_best: { schema: ({ oneOf }) => oneOf('highest', 'lowest'), initial: 'highest', text: 'Which score is better.' },
  stall: {
    schema: ({ integer }) => integer(0),
    text: 'This many consecutive iterations without a change end it; 0: never. Default: 3, and 0 if condition is a count.',
  },
  before: {
    each: { list: 'a list of tables' },
    text: 'What held for the first iterations, which no longer count for stall. A resume with --iter or --until sets it.',
    keys: {
      done: {
        schema: ({ integer }) => integer(1),
        isRequired: true,
        text: 'The number of iterations, from the first.',
      },
      condition: { schema: ({ name }) => name, text: 'Their condition.' },
      until: { schema: ({ name }) => name, text: 'Their command of until.' },
    },
  },
  command_timeout: {
    schema: ({ timeLimit }) => timeLimit,
    initial: '10m',
    text: 'Time limit of each run of until and score, and of a commit with its hooks.',
  },
} as const satisfies KeyRows

export const iterate = {
  ...frameTable,
  starts: true,
  decides: true,
  isLimit: true,
  order: byPrompt,
  text: 'Work on the prompt repeatedly: by count, by time, or until a command succeeds.',
  strategy: { read: readIterate },
  keys,
} as const satisfies SettingRow

type Written = Values<typeof keys>

/** As a run has it: the lowest layer has the defaults. */
type Filled = Written &
  Required<
    Pick<Written, 'context' | 'assessment' | 'commits' | 'summarizer' | 'on_dirty' | 'score_best' | 'command_timeout'>
  >

/** `[iterate]`, if it limits the iterations. */
export interface IterateSettings extends Omit<Filled, 'condition' | 'command_timeout'> {
  /** Undefined: until something else ends it. */
  readonly condition: IterationCondition | undefined
  /** For `until`, `score`, and a commit with its hooks. */
  readonly command_timeout_ms: number
}

/** Without an end condition, the table only configures iterations that other layers may request. */
function readIterate(table: JsonObject): IterateSettings | undefined {
  const { condition, command_timeout: limit, ...others } = table as Filled
  if (condition === undefined && others.until === undefined && others.score_goal === undefined) return undefined
  return {
    ...others,
    condition: condition === undefined ? undefined : parseCondition(condition),
    command_timeout_ms: parseDuration(limit) ?? 0,
  }
}
