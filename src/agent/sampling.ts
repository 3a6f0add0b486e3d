import { BatonError } from '../base/error.ts'
import { isJsonObject, isObject, type Json, type JsonObject } from '../base/json.ts'
import { emit, type RunContext } from '../event/context.ts'
import { type FilePart, type Message, textMessage, textOf, type TextPart } from '../event/message.ts'
import { placeText } from '../event/place.ts'
import { resolveAlias } from '../model/alias.ts'
import type { FinishReason } from '../model/provider.ts'
import { roles } from '../model/table.ts'
import type { AgentParts } from './parts.ts'
import { askModels } from './model-call.ts'

interface Sampling {
  /** Of `sampling/createMessage`. */
  readonly params: JsonObject
  /** `model`, `fallback_models` and `model_aliases` as agents get them. */
  readonly options: JsonObject
}

/**
 * Asks the model of the run for an MCP server: a separate request at the place of the context, under the budget
 * and permissions of the agent that called the server. A model hint is only followed if the settings know its name, so
 * that a server cannot choose a model or host that the user has not named.
 * @throws BatonError MCP_FAILED for a request that cannot be sent, and errors of model calls
 */
export async function sample(
  { params, options }: Sampling,
  parts: AgentParts,
  context: RunContext,
): Promise<JsonObject> {
  const { messages, ...settings } = requestOf(params)
  const models = await modelsFor({ params, options }, parts)
  await refuseImages(messages, models, parts)
  const { at } = context.scope
  const item = { id: `${placeText(at)}/message`, type: 'agent_message' } as const
  emit(context, { type: 'item.started', item })
  const { chosen, answer } = await askModels(
    { at, models, request: { ...settings, messages }, recorded: { messages }, itemId: item.id, acceptsEmpty: true },
    parts,
    context,
  )
  const text = textOf(answer)
  emit(context, { type: 'item.completed', item: { ...item, text } })
  const cut = cutAtStop(text, params['stopSequences'])
  return {
    role: 'assistant',
    content: { type: 'text', text: cut ?? text },
    model: chosen.label,
    stopReason: cut === undefined ? stopReasons[answer.finish] : 'stopSequence',
  }
}

const stopReasons: { readonly [Reason in FinishReason]: string } = {
  stop: 'endTurn',
  tool_calls: 'endTurn',
  length: 'maxTokens',
  content_filter: 'contentFilter',
  refusal: 'refusal',
  incomplete: 'incomplete',
  other: 'endTurn',
}

interface Sampled {
  readonly messages: readonly Message[]
  readonly max_tokens?: number
  readonly temperature?: number
}

function requestOf({ messages, systemPrompt, maxTokens, temperature, tools }: JsonObject): Sampled {
  if (Array.isArray(tools) && tools.length > 0) throw unsupported('to use tools')
  if (!Array.isArray(messages) || messages.length === 0) throw unsupported('nothing: its messages are missing')
  const system = typeof systemPrompt === 'string' && systemPrompt !== '' ? [textMessage('system', systemPrompt)] : []
  return {
    messages: [...system, ...messages.map(messageOf)],
    ...(typeof maxTokens === 'number' && maxTokens >= 1 && { max_tokens: Math.floor(maxTokens) }),
    ...(typeof temperature === 'number' && { temperature }),
  }
}

function messageOf(message: Json): Message {
  if (!isJsonObject(message)) throw unsupported('with an invalid message')
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant') throw unsupported(`with the role ${JSON.stringify(role)}`)
  return { role, parts: (Array.isArray(content) ? content : [content ?? null]).map(partOf) }
}

function partOf(content: Json): TextPart | FilePart {
  if (isJsonObject(content)) {
    const { type, text, data, mimeType } = content
    if (type === 'text' && typeof text === 'string') return { type, text }
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      return { type: 'file', name: 'image', mediaType: mimeType, data }
    }
  }
  const kind = isObject(content) ? content['type'] : content
  throw unsupported(`with content of the type ${JSON.stringify(kind)}`)
}

async function refuseImages(
  messages: readonly Message[],
  [first]: readonly string[],
  parts: AgentParts,
): Promise<void> {
  if (!messages.some((message) => message.parts.some(({ type }) => type === 'file'))) return
  const { taken, label } = await parts.chooseModel(first === '' ? undefined : first)
  if (taken?.image === false) throw unsupported(`with an image, but ${label} accepts none`)
}

function unsupported(what: string): BatonError {
  return new BatonError('MCP_FAILED', `the server asks the model ${what}`)
}

/** The model of a known hint, else that of the agent with its fallback models. */
async function modelsFor({ params, options }: Sampling, parts: AgentParts): Promise<readonly string[]> {
  const { model, fallback_models: fallbacks, model_aliases: written } = options
  const aliases = textsOf(written)
  const own = typeof model === 'string' ? model : ''
  const others = Array.isArray(fallbacks) ? fallbacks.filter((name) => typeof name === 'string') : []
  const known = new Set([own, ...others, ...Object.keys(aliases), ...Object.values(aliases), ...roles])
  for (const hint of hintsOf(params)) {
    if (!known.has(hint)) continue
    const name = resolveAlias(hint, aliases)
    // a model without a key is of no use
    if (await parts.chooseModel(name).then(Boolean, () => false)) return [name]
  }
  return [own, ...others].map((name) => resolveAlias(name, aliases))
}

function hintsOf({ modelPreferences }: JsonObject): readonly string[] {
  const hints = isJsonObject(modelPreferences) ? modelPreferences['hints'] : undefined
  const names = Array.isArray(hints) ? hints.map((hint) => (isJsonObject(hint) ? hint['name'] : undefined)) : []
  return names.filter((name) => typeof name === 'string' && name !== '') as readonly string[]
}

function textsOf(table: Json | undefined): { readonly [name: string]: string } {
  const entries = isJsonObject(table) ? Object.entries(table) : []
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** The text before the first stop sequence; undefined if it contains none. */
function cutAtStop(text: string, stops: Json | undefined): string | undefined {
  const found = (Array.isArray(stops) ? stops : []).flatMap((stop) => {
    const at = typeof stop === 'string' && stop !== '' ? text.indexOf(stop) : -1
    return at === -1 ? [] : [at]
  })
  return found.length === 0 ? undefined : text.slice(0, Math.min(...found))
}
