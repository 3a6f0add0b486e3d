import { isObject } from '../base/json.ts'
import type { RecordSource } from '../journal/source.ts'
import { roundOfTask } from '../journal/tally.ts'
import { dataText, valueOf } from './recorded.ts'

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

/** The result of an agent that is run directly: the value of its script, or of its last section. */
const agentPlace = /^(?:redo\/\d+\/)?main\/(?:chunk|output|after_all)$/

/** Reads the answers of a run: the answers of all tasks in its last round or iteration. Secrets are shown by name. */
export async function readAnswers(source: RecordSource): Promise<Answers> {
  const answers = new Map<string, Answer>()
  let round = ''
  let file = ''
  let isText = false
  let prompt: unknown
  let asked: string | null = null
  await source.scan((record) => {
    if (record.k === 'run.start') {
      file = record.file
      asked = askedIn(record.facts)
    } else if (record.k === 'source' && record.name === 'prompt' && prompt === undefined) {
      isText = record.path === ''
      prompt = promptIn(valueOf(record.value, source))
    } else if (record.k === 'source' && record.path === file && prompt === undefined) {
      prompt = promptIn(valueOf(record.value, source))
    } else if (record.k === 'done' && agentPlace.test(record.p)) {
      const value = valueOf(record.value, source)
      if (value !== undefined && value !== null) answers.set('main', { label: '', text: dataText(value) })
    } else if (record.k === 'begin' || record.k === 'done') {
      const own = roundOfTask(record.p)
      if (own === undefined) return
      if (own !== round) answers.clear()
      round = own
      const answer = record.k === 'done' ? answerIn(valueOf(record.value, source)) : undefined
      if (answer === undefined) answers.delete(record.p)
      else answers.set(record.p, answer)
    }
  })
  const inOrder = [...answers].toSorted(([one], [other]) => taskNumber(one) - taskNumber(other))
  return {
    file: isText || file === '' ? null : file,
    prompt: typeof prompt === 'string' ? prompt : null,
    asked,
    answers: inOrder.map(([, answer]) => answer),
  }
}

function askedIn(facts: unknown): string | null {
  const invocation = isObject(facts) ? facts['invocation'] : undefined
  const asked = isObject(invocation) ? invocation['instruction'] : undefined
  return typeof asked === 'string' ? asked : null
}

function promptIn(value: unknown): unknown {
  return isObject(value) ? value['prompt'] : value
}

function answerIn(value: unknown): Answer | undefined {
  if (!isObject(value) || value['status'] !== 'done') return undefined
  const { label, content } = value
  return typeof content === 'string' ? { label: typeof label === 'string' ? label : '', text: content } : undefined
}

function taskNumber(place: string): number {
  return Number(place.slice(place.lastIndexOf('/') + 1)) || 0
}
