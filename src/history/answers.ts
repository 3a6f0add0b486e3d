import { isObject } from '../base/json.ts'
import type { RecordSource } from '../journal/source.ts'
import { roundOfTask } from '../journal/tally.ts'
import type { Location } from '../journal/tree.ts'
import { dataText, valueOf } from './recorded.ts'
import { nodesIn, type RunView, type ViewOptions } from './run-view.ts'

export interface Answer {
  /** The label of its task; for an agent, its file. */
  readonly label: string
  readonly text: string
}

/** What a run was asked, and what it has answered so far. */
export interface Answers {
  /** Absolute; null if the run had a text instead of a file. */
  readonly file: string | null
  /** The file's text when the run started; null if it was not recorded. */
  readonly prompt: string | null
  /** The text that was asked instead of the file's; null: the file's text was. */
  readonly asked: string | null
  readonly answers: readonly Answer[]
}

/** A view for `answersIn`: other nodes are not needed. */
export const answersOnly: ViewOptions = {
  most: Number.POSITIVE_INFINITY,
  keeps: (place) => roundOfTask(place) !== undefined || agentPlace.test(place),
}

/**
 * The answers of a run: those of all tasks in its last round or iteration, or of the first `most` tasks. Secrets are
 * shown by name.
 */
export function answersIn(view: RunView, most = Number.POSITIVE_INFINITY): Answers {
  return { ...promptIn(view), answers: [...taskAnswers(view, most), ...agentAnswers(view)] }
}

function promptIn({ start, sources, source }: RunView): Omit<Answers, 'answers'> {
  const started = start === undefined ? undefined : source.at(start)
  const { file, facts } = started?.k === 'run.start' ? started : { file: '', facts: undefined }
  const prompt = sources.find(({ name, path }) => name === 'prompt' || path === file)
  const value = prompt === undefined ? undefined : valueAt(prompt.location, source)
  const text = isObject(value) ? value['prompt'] : value
  const isText = prompt?.name === 'prompt' && prompt.path === ''
  return {
    file: isText || file === '' ? null : file,
    prompt: typeof text === 'string' ? text : null,
    asked: askedIn(facts),
  }
}

function askedIn(facts: unknown): string | null {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  const asked = isObject(invocation) ? invocation['instruction'] : undefined
  return typeof asked === 'string' ? asked : null
}

function taskAnswers({ root, source }: RunView, most: number): readonly Answer[] {
  const tasks = [...nodesIn(root)].flatMap(({ place, begin = 0, done = 0 }) => {
    const round = roundOfTask(place)
    return round === undefined ? [] : [{ place, round, done, latest: Math.max(begin, done) }]
  })
  const last = tasks.toSorted((one, other) => one.latest - other.latest).at(-1)
  return tasks
    .filter(({ round, done }) => round === last?.round && done > 0)
    .toSorted((one, other) => taskNumber(one.place) - taskNumber(other.place))
    .slice(0, most)
    .flatMap(({ done }) => answerIn(valueAt(done, source)))
}

function answerIn(value: unknown): readonly Answer[] {
  if (!isObject(value) || value['status'] !== 'done') return []
  const { label, content } = value
  return typeof content === 'string' ? [{ label: typeof label === 'string' ? label : '', text: content }] : []
}

function taskNumber(place: string): number {
  return Number(place.slice(place.lastIndexOf('/') + 1)) || 0
}

/** The result of an agent that is run directly: the value of its script, or of its last section. */
const agentPlace = /^(?:redo\/\d+\/)?main\/(?:chunk|output|after_all)$/

function agentAnswers({ root, source }: RunView): readonly Answer[] {
  const ends = [...nodesIn(root)].flatMap(({ place, done }) =>
    done === undefined || !agentPlace.test(place) ? [] : [done],
  )
  const values = ends.toSorted((one, other) => other - one).map((done) => valueAt(done, source))
  const value = values.find((one) => one !== undefined && one !== null)
  return value === undefined ? [] : [{ label: '', text: dataText(value) }]
}

/** The value of a source or of the end of a boundary. */
function valueAt(location: Location, source: RecordSource): unknown {
  const record = source.at(location)
  return record.k === 'source' || record.k === 'done' ? valueOf(record.value, source) : undefined
}
