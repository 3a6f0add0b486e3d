import { BatonError, messageOf } from '../base/error.ts'
import { indentJson, jsonStringEnd, parseJsonc } from '../base/json-text.ts'
import { canonicalJson, type Json, type JsonObject } from '../base/json.ts'
import { checkBySchema } from '../base/json-schema.ts'
import type { SchemaProblem } from '../base/schema-problem.ts'
import type { ModelResult } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import { type MarkdownFence, nextMarkdownFence } from '../prompt/lines.ts'
import { responseOf, type TaskAnswer, unusableAnswer } from './answer.ts'
import type { Conversation } from './main-agent.ts'
import type { OutputSchema } from './output-schema.ts'

/** How often a model may correct an answer that does not fit `[output]`. */
export const maxRepairs = 2

/**
 * Reads an answer that must fit `[output]`; one that does not is sent back with what is wrong, at most twice.
 * @throws BatonError MODEL_FAILED with the problems of the last answer
 */
export async function repairAnswer(
  first: ModelResult,
  { output, conversation }: { readonly output: OutputSchema; readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  let result = first
  for (let repairs = 0; ; repairs += 1) {
    const read = await readStructured(result.text, output, context.services.signal)
    if (read.kind === 'ok') {
      const spent = conversation.spent()
      const { text, value } = read
      return {
        text,
        value,
        response: responseOf({ ...result, text, calls: conversation.calls() }, spent),
        fileChanges: [],
        spent,
      }
    }
    // a longer conversation would only make the next answer shorter
    if (result.end === 'max_tokens') {
      const hint = 'Raise max_tokens, or ask for less in one answer.'
      const message = 'the answer was truncated at its output limit, so it does not fit [output]'
      throw unusableAnswer(new BatonError('MODEL_FAILED', message, { hint }))
    }
    const problems = read.problems.map(({ path, message }) => `${path} ${message}`)
    if (repairs === maxRepairs) throw unusableAnswer(await misfit(problems, read.problems[0], output))
    if (!conversation.wasAnswered()) {
      emit(context, { type: 'warning', message: `the model is asked to correct its answer: ${problems[0] ?? ''}` })
    }
    result = await conversation.ask([textMessage('user', repairMessage(read.problems, output.schema))])
  }
}

/** The error is at the part of the schema that the answer violates first. */
async function misfit(
  [first = 'it is no JSON', ...others]: readonly string[],
  violated: SchemaProblem | undefined,
  { placeAt }: OutputSchema,
): Promise<BatonError> {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const message = `the answer does not fit [output] after ${maxRepairs} corrections: ${first}${more}`
  return new BatonError('MODEL_FAILED', message, {
    ...(violated?.at === undefined ? {} : { place: await placeAt(violated.at) }),
    hint: 'Simplify the schema, say more about it in the instruction, or name a stronger model.',
  })
}

export type StructuredAnswer =
  /** `text` is the JSON as it was written, indented. */
  | { readonly kind: 'ok'; readonly value: Json; readonly text: string }
  | { readonly kind: 'wrong'; readonly problems: readonly SchemaProblem[] }

/**
 * Reads the answer of a model that must be JSON fitting the schema. Text or a fence around it does no harm. Of several
 * values the one that fits counts, when there is only one; the longest part is what was meant where none does.
 */
export async function readStructured(
  answer: string,
  output: OutputSchema,
  signal: AbortSignal,
): Promise<StructuredAnswer> {
  const parts = findJson(answer)
  const longest = parts.toSorted((left, right) => right.text.length - left.text.length)[0]
  if (longest === undefined) return wrong('holds no JSON')
  if (longest.kind === 'broken') return wrong(`is not valid JSON: ${longest.reason}`)

  const fitting = new Map<string, JsonPart & { readonly kind: 'json' }>()
  for (const part of parts) {
    if (part.kind !== 'json') continue
    const problems = await checkBySchema(output, part.value, signal)
    if (problems.length === 0) fitting.set(canonicalJson(part.value), part)
  }
  const [first, second] = fitting.values()
  if (first === undefined) return { kind: 'wrong', problems: await checkBySchema(output, longest.value, signal) }
  if (second !== undefined) return wrong(`holds ${fitting.size} different JSON values, and only one may be there`)
  return { kind: 'ok', value: first.value, text: indentJson(first.text) }
}

/**
 * The value of a text that nobody can be asked to correct. `who` begins the message: `agent "x" answered`.
 * @throws BatonError AGENT_FAILED with the first problem
 */
export async function fitting(
  answer: string,
  output: OutputSchema,
  { who, signal }: { readonly who: string; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly value: Json }> {
  const read = await readStructured(answer, output, signal)
  if (read.kind === 'ok') return { text: read.text, value: read.value }
  throw misfitOf(read.problems, who)
}

/** The error of an agent whose answer does not fit: names the first problem. */
export function misfitOf(
  [{ path, message } = { path: '$', message: 'is no JSON' }]: readonly Pick<SchemaProblem, 'path' | 'message'>[],
  who: string,
): BatonError {
  return new BatonError('AGENT_FAILED', `${who} what does not fit [output]: ${path} ${message}`, {
    hint: 'Answer JSON that fits the schema.',
  })
}

function wrong(message: string): StructuredAnswer {
  return { kind: 'wrong', problems: [{ path: '$', message }] }
}

/** What is sent back to a model whose answer did not fit. */
export function repairMessage(problems: readonly SchemaProblem[], schema: JsonObject): string {
  const list = problems.map(({ path, message }) => `- ${path} ${message}`).join('\n')
  return `Your last answer cannot be used. What is wrong with it ($ is the answer as a whole):

${list}

Answer again with the whole corrected value, not only the parts that change. Your whole answer is one JSON value that fits the JSON Schema below: no text before or after it, no code fence, no comments.

${JSON.stringify(schema)}`
}

/** A part of a text that is JSON or was meant to be. */
type JsonPart =
  | { readonly kind: 'json'; readonly text: string; readonly value: Json }
  | { readonly kind: 'broken'; readonly text: string; readonly reason: string }

/**
 * The JSON in an answer: the whole text; else what its fenced blocks hold that are marked `json` or nothing; else each
 * outermost `{…}` and `[…]`. An opening mark without its end reaches to the end of the text, and what stands inside a
 * broken part is never taken for the answer: it would be a piece of one that was cut.
 */
function findJson(text: string): readonly JsonPart[] {
  const whole = readPart(text)
  if (whole.kind === 'json') return [whole]
  const fenced = fencedBlocks(text)
  return (fenced.length > 0 ? fenced : outermostValues(text)).map(readPart)
}

function readPart(part: string): JsonPart {
  const text = part.trim()
  try {
    return { kind: 'json', text, value: JSON.parse(text) as Json }
  } catch (error) {
    try {
      // says line and column, which JSON.parse does not always do; comments are no reason for it
      parseJsonc(text)
    } catch (placed) {
      return { kind: 'broken', text, reason: messageOf(placed) }
    }
    return { kind: 'broken', text, reason: messageOf(error) }
  }
}

function fencedBlocks(text: string): readonly string[] {
  const blocks: string[] = []
  let open: MarkdownFence | undefined
  let content: string[] = []
  const close = (language: string): void => {
    const block = content.join('\n').trim()
    if (/^json[c5]?$/.test(language) || (language === '' && /^[{[]/.test(block))) blocks.push(block)
    content = []
  }
  for (const line of text.split(/\r?\n/)) {
    const next = nextMarkdownFence(open, line)
    if (open !== undefined && next === undefined) close(open.language)
    else if (open !== undefined) content.push(line)
    open = next
  }
  if (open !== undefined) close(open.language)
  return blocks
}

function outermostValues(text: string): readonly string[] {
  const values: string[] = []
  const opening = /[{[]/g
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const end = valueEnd(text, match.index)
    values.push(text.slice(match.index, end))
    opening.lastIndex = end
  }
  return values
}

/** The offset behind the object or list that opens at `start`; the end of the text when it is not closed. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  for (let index = start; index < text.length;) {
    const character = text[index]
    if (character === '"') {
      index = jsonStringEnd(text, index)
      continue
    }
    index += 1
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    if (depth === 0) return index
  }
  return text.length
}
