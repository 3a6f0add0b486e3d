import type { RecordSource } from '../journal/source.ts'
import { answerText, dataText, errorOf, promptText, valueOf } from './recorded.ts'
import { type PartView, startedOf, type ViewContext, viewPart } from './part-view.ts'
import { findPart, type Part, readTree } from './run-tree.ts'

/** A text of a part: an input or an output. */
export interface DetailView {
  readonly place: string
  /**
   * `prompt`, `answer`, `request`, `result`, `value` of a finished part, or a host call such as `aip.file.load("a")`.
   */
  readonly title: string
  readonly text: string
}

export interface PlaceView {
  readonly part: PartView
  readonly details: readonly DetailView[]
}

/** The part of a run at a place, in full; undefined if there are no records of it. */
export async function readPlace(source: RecordSource, place: string): Promise<PlaceView | undefined> {
  const { root, breaks } = await readTree(source, { most: Number.POSITIVE_INFINITY, keepsAnswers: true, within: place })
  const part = findPart(root, place)
  return part && viewPlace(part, { source, breaks })
}

/** A part in full: with every prompt and answer, request and result, and host call at and below it. */
export function viewPlace(part: Part, context: ViewContext): PlaceView {
  return { part: viewPart(part, context), details: detailsOf(part, context.source) }
}

function detailsOf(part: Part, source: RecordSource): readonly DetailView[] {
  const { place, parts } = part
  return [
    ...effectDetails(part, source),
    ...[...part.answers.entries()].map(([at, location]): DetailView => {
      const record = source.at(location)
      if (record.k !== 'obs' && record.k !== 'call') return { place: at, title: record.k, text: '' }
      const args = valueOf(record.args, source)
      const shown = Array.isArray(args) ? args.map((item) => JSON.stringify(item)).join(', ') : dataText(args)
      const text =
        record.status === 'ok' ? dataText(unwrapped(valueOf(record.value, source))) : (errorOf(record, source) ?? '')
      return { place: at, title: `${record.name}(${shown})`, text }
    }),
    ...[...parts.values()].flatMap((below) => detailsOf(below, source)),
    ...valueDetails(part, place, source),
  ]
}

/** Host functions return lists of values, usually with a single element. */
function unwrapped(value: unknown): unknown {
  return Array.isArray(value) && value.length <= 1 ? (value[0] as unknown) : value
}

function effectDetails(part: Part, source: RecordSource): readonly DetailView[] {
  const started = startedOf(part, source)
  if (started === undefined) return []
  const { place, ended } = part
  const request = valueOf(started.request, source)
  const isModel = started.kind === 'model'
  const asked = {
    place,
    title: isModel ? 'prompt' : 'request',
    text: isModel ? promptText(request) : dataText(request),
  }
  const record = ended === undefined ? undefined : source.at(ended)
  if (record?.k !== 'ended') return [asked]
  if (record.status !== 'ok') return [asked, { place, title: 'error', text: errorOf(record, source) ?? '' }]
  const value = valueOf(record.value, source)
  if (value === undefined) return [asked]
  return [asked, { place, title: isModel ? 'answer' : 'result', text: isModel ? answerText(value) : dataText(value) }]
}

function valueDetails({ done }: Part, place: string, source: RecordSource): readonly DetailView[] {
  const record = done === undefined ? undefined : source.at(done)
  if (record?.k !== 'done' || record.value === undefined) return []
  return [{ place, title: 'value', text: dataText(valueOf(record.value, source)) }]
}
