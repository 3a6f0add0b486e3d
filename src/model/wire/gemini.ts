import { defined, isObject, type JsonObject } from '../../base/json.ts'
import {
  type FilePart,
  type Message,
  type MessagePart,
  textOf,
  type ToolResultPart,
  type Usage,
} from '../../event/message.ts'
import type { FinishReason, ModelRequest } from '../provider.ts'
import { type AnswerParser, type Emit, noMetadata, type Quirks, type WireFormat } from './format.ts'
import { callInput, callName, namedParts, providerData, schemaInstruction } from './request-parts.ts'
import type { ModelFault } from '../errors.ts'
import { faultOfErrorObject, reportedError, unfinished } from '../faults.ts'
import { createSender } from '../send.ts'
import {
  argumentsText,
  countAt,
  type Fields,
  finishReasons,
  garbled,
  listAt,
  generatedId,
  objectAt,
  parseJson,
  readFields,
  textAt,
} from './reading.ts'

/** Google's own Gemini API. The base URL ends in `/v1beta`. */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  path: ({ model }) => `/${modelPath(model)}:streamGenerateContent?alt=sse`,
  createSender: (options) => createSender(options, { always: {}, withKey: (apiKey) => ({ 'x-goog-api-key': apiKey }) }),
  body: geminiBody,
  parser: parseGemini,
}

/** A name with a slash (`tunedModels/…`) is already a path. */
function modelPath(model: string): string {
  const path = model.includes('/') ? model : `models/${model}`
  return path.split('/').map(encodeURIComponent).join('/')
}

/**
 * The body of a streaming Gemini request; the model is in the path. System messages go to the top, wherever they
 * appear. This API has no cache marks; it caches automatically.
 */
function geminiBody(request: ModelRequest, quirks: Quirks): JsonObject {
  const { messages, tools = [], output } = request
  const asked = output === undefined || outputMode(request, quirks) === 'schema' ? [] : [schemaInstruction(output)]
  const system = [...systemParts(messages), ...asked.map((text) => ({ text }))]
  const config = generationConfig(request, quirks)
  const declared = tools.map(({ name, description, parameters }) => {
    return { name, description, parametersJsonSchema: parameters }
  })
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents: contentsOf(request),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: declared }] }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  }
}

function generationConfig(request: ModelRequest, quirks: Quirks): JsonObject {
  const { temperature, top_p, max_tokens, seed, output } = request
  const mode = outputMode(request, quirks)
  return {
    ...defined({ maxOutputTokens: max_tokens, temperature, topP: top_p, seed }),
    ...(output === undefined || mode === 'none' ? {} : { responseMimeType: 'application/json' }),
    ...(output === undefined || mode !== 'schema' ? {} : { responseJsonSchema: output.schema }),
    ...thinkingConfig(request),
  }
}

/** Models before Gemini 3 refuse tools together with a JSON answer: there the schema is requested in words. */
function outputMode({ model, tools = [] }: ModelRequest, { structured }: Quirks): Quirks['structured'] {
  return tools.length > 0 && generationOf(model) < 3 ? 'none' : structured
}

/** Google's placeholder for a call without the signature of the model. */
const noSignature = 'skip_thought_signature_validator'

type Content = { readonly role: 'user' | 'model'; readonly parts: readonly JsonObject[] }

function systemParts(messages: readonly Message[]): readonly JsonObject[] {
  return messages
    .filter(({ role }) => role === 'system')
    .flatMap((message) => namedParts(message).flatMap((part) => partOf(part)))
}

/**
 * All other messages; adjacent messages of the same side are merged, so that the results of parallel calls are in one
 * message.
 */
function contentsOf({ messages, model }: ModelRequest): readonly JsonObject[] {
  const contents: Content[] = []
  const calls = callsById(messages)
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'model' : 'user'
    const written = namedParts(message).flatMap((part) => {
      return part.type === 'tool_result' ? resultParts(part, calls.get(part.id)) : partOf(part)
    })
    const parts = generationOf(model) >= 3 ? withSignature(written) : written
    if (parts.length === 0) continue
    const last = contents.at(-1)
    if (last?.role === role) contents[contents.length - 1] = { role, parts: [...last.parts, ...parts] }
    else contents.push({ role, parts })
  }
  return contents
}

function partOf(part: MessagePart): readonly JsonObject[] {
  const own = providerData(part, 'gemini')
  switch (part.type) {
    case 'text':
      return part.text === '' && own === undefined ? [] : [{ text: part.text, ...own }]
    case 'reasoning':
      return own === undefined ? [] : [{ text: part.text, ...own }]
    case 'file':
      return [filePart(part)]
    case 'tool_call': {
      const args = callInput(part.input)
      if (own === undefined) return [{ functionCall: { id: part.id, name: callName(part.name), args } }]
      const call = own['functionCall'] as JsonObject
      return [{ ...own, functionCall: 'args' in call ? { ...call, args } : call }]
    }
    case 'tool_result':
      return []
  }
}

/** From Gemini 3 on, the first call of each answer must be signed: calls of other models get Google's placeholder. */
function withSignature(parts: readonly JsonObject[]): readonly JsonObject[] {
  const first = parts.findIndex((part) => 'functionCall' in part)
  const call = parts[first]
  if (call === undefined || 'thoughtSignature' in call) return parts
  return parts.with(first, { ...call, thoughtSignature: noSignature })
}

function filePart({ mediaType, data }: FilePart): JsonObject {
  // text/plain is the only text type that is accepted everywhere
  return { inlineData: { mimeType: mediaType.startsWith('text/') ? 'text/plain' : mediaType, data } }
}

/** How a result refers to its call: by name, and by id if the call is sent with one. */
type CallName = { readonly name: string; readonly id?: string }

function callsById(messages: readonly Message[]): ReadonlyMap<string, CallName> {
  const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'))
  return new Map(
    calls.map((call) => {
      const own = providerData(call, 'gemini')?.['functionCall'] as JsonObject | undefined
      const isNameless = own !== undefined && own['id'] === undefined
      return [call.id, { name: call.name, ...(isNameless ? {} : { id: call.id }) }]
    }),
  )
}

function resultParts(
  { id, parts, is_error: isError }: ToolResultPart,
  call: CallName | undefined,
): readonly JsonObject[] {
  const text = textOf({ parts })
  const response = isError === true ? { error: text } : { output: text }
  const files = parts.filter((part) => part.type === 'file').map(filePart)
  return [{ functionResponse: { ...(call ?? { id, name: id }), response } }, ...files]
}

/** Thinking tokens for an effort; minimal is the least that all models except the largest accept. */
const budgets: { readonly [effort: string]: number } = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8000,
  high: 24_000,
  xhigh: 24_576,
  max: 24_576,
}

/** The range of Gemini 2.5 Pro, which always thinks. */
const proBudget = { least: 128, most: 32_768 }

/**
 * How much the model thinks, and whether thoughts are shown: in tokens up to Gemini 2.5, by name from Gemini 3
 * on. Models that do not think get no such setting; without an effort, the model decides. Thoughts are shown if an
 * effort is set or a summary is requested.
 */
function thinkingConfig(request: ModelRequest): JsonObject {
  const { model, reasoning_effort: effort, reasoning_summary: summary } = request
  const generation = generationOf(model)
  if (generation < 2.5 || (effort === undefined && (summary === undefined || summary === 'none'))) return {}
  const amount = effort === undefined ? {} : generation < 3 ? budget(effort, model) : level(effort, model)
  return { thinkingConfig: { ...amount, includeThoughts: summary !== 'none' && effort !== 'none' } }
}

/** The generation of a Gemini model, 0 for other families. A name without a number counts as the newest. */
function generationOf(model: string): number {
  if (!/gemini/i.test(model)) return 0
  const found = /gemini-(\d{1,2}(?:\.\d{1,2})?)(?!\d)/i.exec(model)
  return found === null ? Infinity : Number(found[1])
}

function budget(effort: string, model: string): JsonObject {
  const tokens = budgets[effort]
  if (tokens === undefined) return {}
  if (!/pro/i.test(model)) return { thinkingBudget: tokens }
  const most = effort === 'xhigh' || effort === 'max' ? proBudget.most : tokens
  return { thinkingBudget: Math.max(proBudget.least, most) }
}

/**
 * Thinking cannot be turned off for these models. The lowest level that all support is `low`; small ones support
 * `minimal`.
 */
function level(effort: string, model: string): JsonObject {
  switch (effort) {
    case 'none':
    case 'minimal':
      return { thinkingLevel: /flash-lite/i.test(model) ? 'minimal' : 'low' }
    case 'medium':
      return { thinkingLevel: /gemini-3-pro/i.test(model) ? 'high' : 'medium' }
    case 'xhigh':
    case 'max':
      return { thinkingLevel: /gemini-4-(?:hydrogen|neon)/i.test(model) ? 'xhigh' : 'high' }
    default:
      return { thinkingLevel: effort }
  }
}

/** Reads one answer: every event is a whole response object with the next parts. */
export function parseGemini(emit: Emit): AnswerParser {
  const found = noMetadata()
  let id = ''
  let calls = 0
  let blocks = 0
  let stray: string | undefined
  /** The kind of the last block, as long as the next part may belong to it. */
  let open: 'text' | 'reasoning' | undefined

  /** Reads a complete response, or the list of responses this API sends if no event stream was requested. */
  function readBody(body: string): ModelFault | undefined {
    const value = parseJson(body)
    const chunks: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const chunk of chunks) {
      if (!isObject(chunk)) return garbled('answered with invalid JSON', body)
      const fault = readChunk(chunk)
      if (fault !== undefined) return fault
    }
    if (found.finish === undefined) return garbled('answered with JSON that is not a model response', body)
    found.done = true
    return undefined
  }

  function readChunk(chunk: Fields): ModelFault | undefined {
    const candidate = listAt(chunk, 'candidates')[0]
    if (candidate === undefined || (chunk['error'] !== undefined && chunk['error'] !== null)) {
      const error = reportedError(chunk)
      if (error !== undefined) return faultOfErrorObject(error)
      if (isStray(chunk)) stray = JSON.stringify(chunk)
    }
    if (id === '' && textAt(chunk, 'responseId') !== '') {
      id = textAt(chunk, 'responseId')
      emit({ type: 'start', id })
    }
    for (const part of listAt(objectAt(candidate, 'content'), 'parts')) if (isObject(part)) readPart(part)
    found.usage = usageOf(chunk['usageMetadata']) ?? found.usage
    found.finish = finishOf(chunk, candidate)
    return undefined
  }

  function readPart(part: Fields): void {
    if (isObject(part['functionCall'])) return readCall(part, part['functionCall'])
    const type = part['thought'] === true ? 'reasoning' : 'text'
    const text = textAt(part, 'text')
    const signature = textAt(part, 'thoughtSignature')
    if (text === '' && signature === '') return
    // a signature covers one part exactly as received: nothing may be added to it
    const begins = open !== type || signature !== ''
    if (begins) blocks += 1
    const block = blocks - 1
    if (text !== '') emit({ type, block, text })
    if (signature !== '' || (begins && type === 'reasoning')) {
      const signed = signature === '' ? {} : { thoughtSignature: signature }
      const data = { ...(type === 'text' ? {} : { thought: true }), ...signed }
      emit({ type: 'provider', block, part: type, provider: { format: 'gemini', data } })
    }
    open = signature === '' ? type : undefined
  }

  /** Older models send no ids for calls; the generated id includes the id of the answer, so that it is unique. */
  function readCall(part: Fields, call: Fields): void {
    const block = blocks
    blocks += 1
    open = undefined
    const input = argumentsText(call['args']) || '{}'
    emit({
      type: 'tool_call',
      block,
      id: textAt(call, 'id') || generatedId(id, calls),
      name: textAt(call, 'name'),
      input,
    })
    calls += 1
    // the arguments are already in the tool call part
    const bare = call['args'] === undefined ? call : { ...call, args: {} }
    const data = { ...part, functionCall: bare } as JsonObject
    emit({ type: 'provider', block, part: 'tool_call', provider: { format: 'gemini', data } })
  }

  function finishOf(chunk: Fields, candidate: unknown): FinishReason | undefined {
    // the prompt itself was refused: there will be no answer
    if (textAt(chunk['promptFeedback'], 'blockReason') !== '') return 'content_filter'
    const reason = finishReason(candidate) ?? found.finish
    // this API has no finish reason for tool calls
    return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool_calls' : reason
  }

  /** This API has no end mark: an answer is complete if it has a finish reason, and truncated otherwise. */
  function end(): ModelFault | undefined {
    return found.finish === undefined ? unfinished({ hasMark: false, stray }) : undefined
  }

  return { found, read: (event) => readFields(event, readChunk), readBody, end }
}

/** Whether an object has nothing of a response. */
function isStray(chunk: Fields): boolean {
  return !['candidates', 'usageMetadata', 'promptFeedback', 'responseId'].some((key) => key in chunk)
}

const reasonOf = finishReasons({
  stop: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR',
  incomplete:
    'LANGUAGE MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE OTHER TOO_MANY_TOOL_CALLS UNEXPECTED_TOOL_CALL',
})

function finishReason(candidate: unknown): FinishReason | undefined {
  const reason = textAt(candidate, 'finishReason')
  return reason === '' || reason === 'FINISH_REASON_UNSPECIFIED' ? undefined : reasonOf(reason)
}

/**
 * Tokens of one call so far. The API does not include thinking in the answer, nor input of server tools in the prompt.
 */
function usageOf(metadata: unknown): Usage | undefined {
  if (!isObject(metadata)) return undefined
  const reasoning = countAt(metadata, 'thoughtsTokenCount')
  return {
    calls: 1,
    input: countAt(metadata, 'promptTokenCount') + countAt(metadata, 'toolUsePromptTokenCount'),
    output: countAt(metadata, 'candidatesTokenCount') + reasoning,
    cached: countAt(metadata, 'cachedContentTokenCount'),
    reasoning,
  }
}
