import { defined, type JsonObject } from '../../base/json.ts'
import { type FilePart, type Message, type MessagePart, textOf, type ToolResultPart } from '../../event/message.ts'
import type { ModelRequest } from '../provider.ts'
import type { Quirks, WireFormat } from './format.ts'
import { parseGemini } from './gemini-answer.ts'
import { callInput, callName, namedParts, providerData, schemaInstruction } from './request-parts.ts'

/** Google's own Gemini API. The base URL ends in `/v1beta`. */
export const geminiFormat: WireFormat = {
  name: 'gemini',
  path: ({ model }) => `/${modelPath(model)}:streamGenerateContent?alt=sse`,
  keyHeaders: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  headers: {},
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
 * message (R282, R287).
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
 * How much the model thinks, and whether thoughts are shown (R284): in tokens up to Gemini 2.5, by name from Gemini 3
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
      return { thinkingLevel: 'high' }
    default:
      return { thinkingLevel: effort }
  }
}
