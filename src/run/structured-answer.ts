import { modelText } from '../base/model-text.ts'
import { BatonError, messageOf } from '../base/error.ts'
import { indentJson, jsonStringEnd, parseJsonc } from '../base/json-text.ts'
import { canonicalJson, type Json, type JsonObject, parseSentJson } from '../base/json.ts'
import { checkBySchema } from '../base/json-schema.ts'
import type { SchemaProblem } from '../base/schema-problem.ts'
import type { ModelResult } from '../event/agent.ts'
import { emit, type Sender, type Surroundings } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import { type MarkdownFence, nextMarkdownFence } from '../prompt/lines.ts'
import { responseOf, type TaskAnswer, unusableAnswer } from './answer.ts'
import type { Conversation } from './main-agent.ts'
import type { OutputSchema } from '../load/output-schema.ts'

/** How often a model may correct an answer that does not match `[output]`. */
export const maxRepairs = 2

/**
 * Reads an answer that must match `[output]`; one that does not is sent back with its problems, at most twice.
 * @throws BatonError MODEL_FAILED with the problems of the last answer
 */
export async function repairAnswer(
  first: ModelResult,
  { output, conversation }: { readonly output: OutputSchema; readonly conversation: Conversation },
  context: Sender & { readonly services: Pick<Surroundings, 'signal'> },
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
    // the next answer would have even less room, because the conversation is longer
    if (result.end === 'max_tokens') {
      const hint = 'Raise max_tokens, or ask for less in one answer.'
      const message = 'the answer was truncated at its output limit, so it does not match [output]'
      throw unusableAnswer(new BatonError('MODEL_FAILED', message, { hint }))
    }
    const problems = read.problems.map(({ path, message }) => `${path} ${message}`)
    if (repairs === maxRepairs) throw unusableAnswer(await misfit(problems, read.problems[0], output))
    if (!conversation.wasAnswered()) {
      emit(context, { type: 'warning', message: `asking the model to correct its answer: ${problems[0] ?? ''}` })
    }
    result = await conversation.ask([textMessage('user', repairMessage(read.problems, output.schema))])
  }
}

/** An error at the first part of the schema that the answer violates. */
async function misfit(
  [first = 'it is not JSON', ...others]: readonly string[],
  violated: SchemaProblem | undefined,
  { placeAt }: OutputSchema,
): Promise<BatonError> {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const message = `the answer does not match [output] after ${maxRepairs} corrections: ${first}${more}`
  return new BatonError('MODEL_FAILED', message, {
    ...(violated?.at === undefined ? {} : { place: await placeAt(violated.at) }),
    hint: 'Simplify the schema, explain it in the instruction, or use a stronger model.',
  })
}

export type StructuredAnswer =
  /** `text` is the JSON of the answer, indented. */
  | { readonly kind: 'ok'; readonly value: Json; readonly text: string }
  | { readonly kind: 'wrong'; readonly problems: readonly SchemaProblem[] }

/**
 * Reads the answer of a model, which must be JSON that matches the schema. Text or a code fence around it is allowed.
 * Of several values the one that matches is used, if it is the only one; if none does, the longest is reported.
 */
export async function readStructured(
  answer: string,
  output: OutputSchema,
  signal: AbortSignal,
): Promise<StructuredAnswer> {
  const parts = findJson(answer)
  const longest = parts.toSorted((left, right) => right.text.length - left.text.length)[0]
  if (longest === undefined) return wrong('is not JSON')
  if (longest.kind === 'broken') return wrong(`is not valid JSON: ${longest.reason}`)

  const fitting = new Map<string, JsonPart & { readonly kind: 'json' }>()
  for (const part of parts) {
    if (part.kind !== 'json') continue
    const problems = await checkBySchema(output, part.value, signal)
    if (problems.length === 0) fitting.set(canonicalJson(part.value), part)
  }
  const [first, second] = fitting.values()
  if (first === undefined) return { kind: 'wrong', problems: await checkBySchema(output, longest.value, signal) }
  if (second !== undefined) return wrong(`contains ${fitting.size} different JSON values, but only one is allowed`)
  return { kind: 'ok', value: first.value, text: indentJson(first.text) }
}

/**
 * The value of a text that cannot be sent back for correction. `who` starts the message, which continues "with a value that …": `agent "x" answered`.
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

/** The error of an agent whose answer does not match: names the first problem. */
export function misfitOf(
  [{ path, message } = { path: '$', message: 'is not JSON' }]: readonly Pick<SchemaProblem, 'path' | 'message'>[],
  who: string,
): BatonError {
  return new BatonError('AGENT_FAILED', `${who} with a value that does not match [output]: ${path} ${message}`, {
    reason: 'INVALID_ANSWER',
    hint: 'Answer with JSON that matches the schema.',
  })
}

function wrong(message: string): StructuredAnswer {
  return { kind: 'wrong', problems: [{ path: '$', message }] }
}

/** The message to a model whose answer did not match. */
export function repairMessage(problems: readonly SchemaProblem[], schema: JsonObject): string {
  const list = problems.map(({ path, message }) => `- ${path} ${message}`).join('\n')
  return modelText`Your last answer cannot be used. What is wrong with it ($ is the answer as a whole):

${list}

Answer again with the whole corrected value, not only the parts that change. Your whole answer is one JSON value that fits the JSON Schema below: no text before or after it, no code fence, no comments.

${JSON.stringify(schema)}`
}

/** A part of a text that is, or seems intended to be, JSON. */
type JsonPart =
  | { readonly kind: 'json'; readonly text: string; readonly value: Json }
  | { readonly kind: 'broken'; readonly text: string; readonly reason: string }

/**
 * The JSON in an answer: the whole text; else the contents of code fences marked `json` or unmarked; else each
 * outermost `{…}` and `[…]`. An unclosed bracket extends to the end of the text, and nothing inside a broken part is
 * used as the answer, because it would be a fragment of a truncated one.
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
    return { kind: 'json', text, value: parseSentJson(text) }
  } catch (error) {
    try {
      // reports line and column, which JSON.parse does not always do, and accepts comments
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

/** The offset after the object or list that opens at `start`; the end of the text if it is not closed. */
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
