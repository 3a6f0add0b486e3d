import { defined, type Json, type JsonObject } from '../base/json.ts'
import type { ModelResult, ModelSettings } from '../event/agent.ts'
import { part } from '../event/place.ts'
import { type EquippedAgent, type RunContext, below } from '../event/context.ts'
import { type Message, textMessage, textOf } from '../event/message.ts'
import { type AipDocument, type AipPart, placeOfOption, readCacheOption } from '../prompt/aip.ts'
import { type AttachmentSource, loadAttachments } from './attachments.ts'
import { trimEnd, trimStart } from '../script/host/text-lines.ts'
import { fallbackModels, modelOf } from './options.ts'
import type { ScriptRun } from './script-run.ts'

export interface PromptData {
  readonly context: RunContext
  readonly input: Json
  readonly data: Json | undefined
  readonly beforeAll: Json | undefined
  readonly attachments: readonly AttachmentSource[]
  readonly options: JsonObject
}

/**
 * Renders the prompt sections of an agent, asks its model, and returns what Output sees as `ai_response`. Undefined if
 * the model was not asked: no section renders to text and there is no attachment, or the run is dry.
 */
export async function askAip(run: ScriptRun, document: AipDocument, task: PromptData): Promise<JsonObject | undefined> {
  if (document.parts.length === 0 && task.attachments.length === 0) return undefined
  const attached = loadAttachments(task.attachments, below(task.context, part('attachments')))
  const messages = [...attached, ...(await renderParts(run, document, task))]
  if (messages.length === 0 || task.context.scope.dry === 'req') return undefined

  const { options } = task
  const { agent } = run.request
  // these options are not part of AIPack; most agents use none of them and load no code for them
  const isPlain = ['tools', 'mode', 'collab'].every((key) => options[key] === undefined)
  const { equipped, context } = isPlain
    ? { equipped: {}, context: task.context }
    : await equip(options, agent, task.context)
  const result = await context.services.agents.run(
    {
      kind: 'model',
      agent: {
        kind: 'llm',
        name: agent.name,
        settings: modelSettings(options),
        fallbackModels: fallbackModels(options),
        acceptsEmpty: true,
        ...equipped,
      },
      messages,
    },
    below(context, part('ask')),
  )
  if (!isPlain) (await import('./limit-error.ts')).refuseLimit(result, agent.name, context)
  return aiResponse(result, options)
}

/** The tools, the mode and the team that its options name. */
function equip(options: JsonObject, agent: ScriptRun['request']['agent'], context: RunContext): Promise<EquippedAgent> {
  const { equip: given } = context.services
  if (given === undefined) throw new Error(`nothing gives tools to ${agent.name}`)
  return given(options, agent, context)
}

/** AIPack sends only temperature and top_p, and an effort that is part of the model name. */
function modelSettings(options: JsonObject): ModelSettings {
  const { temperature, top_p } = options
  return {
    ...modelOf(options),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof top_p === 'number' ? { top_p } : {}),
  }
}

async function renderParts(
  { request }: ScriptRun,
  { parts }: AipDocument,
  task: PromptData,
): Promise<readonly Message[]> {
  if (parts.length === 0) return []
  const { signal } = task.context.services
  const data = defined({ input: task.input, data: task.data, before_all: task.beforeAll }) as JsonObject
  const messages: Message[] = []
  for (const part of parts) {
    const message = await renderPart(part, { signal, data, file: request.agent.file, text: request.agent.text })
    if (textOf(message).trim() !== '') messages.push(message)
  }
  return messages
}

interface Rendering {
  readonly signal: AbortSignal
  readonly data: JsonObject
  readonly file: string
  readonly text: string
}

/** The option string is rendered together with the body, as its first line. */
async function renderPart(
  { role, optionText, content, line }: AipPart,
  { signal, data, file, text }: Rendering,
): Promise<Message> {
  const { renderTemplate } = await import('../prompt/render-template.ts')
  const place = { file, line, text }
  if (optionText === undefined) {
    const body = { ...place, line: line + 1 }
    return textMessage(role, await renderTemplate(content, data, { place: body, signal }))
  }
  const option = placeOfOption(place, text.split('\n'))
  const rendered = await renderTemplate(`${optionText}\n${content}`, data, { place: option, signal })
  const end = rendered.indexOf('\n')
  const cache = await readCacheOption(rendered.slice(0, end), option)
  return { ...textMessage(role, rendered.slice(end + 1)), ...(cache ? { cache: true } : {}) }
}

/**
 * An answer as Output sees it, in the form that packs expect: trimmed as in AIPack. Without a known price there is no
 * `price_usd`.
 */
function aiResponse({ text, reasoning, calls, model, spent, seconds }: ModelResult, options: JsonObject): JsonObject {
  const { usage, costUsd } = spent
  const price = costUsd === null ? undefined : Math.round(costUsd * 1e6) / 1e6
  const duration = Math.round(seconds * 1000) / 1000
  const content = trimStart(trimEnd(text))
  const temperature = typeof options['temperature'] === 'number' ? ` | Temperature: ${options['temperature']}` : ''
  return {
    ...(content === '' ? {} : { content }),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => ({ ...call })) }),
    model_name: model.name,
    adapter_kind: model.provider,
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    },
    ...(price === undefined ? {} : { price_usd: price }),
    duration_sec: duration,
    info: `Duration: ${duration}s |${price === undefined ? '' : ` ~$${price} |`} Prompt Tokens: ${usage.input} | Completion Tokens: ${usage.output} | Model: ${model.name} | Adapter: ${model.provider}${temperature}`,
  }
}
