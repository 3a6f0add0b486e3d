import type { Json, JsonObject } from '../base/json.ts'
import { below, type RunContext } from '../event/context.ts'
import type { Message } from '../event/message.ts'
import type { ModelSettings } from '../event/agent.ts'
import type { AipDocument, AipPart } from '../prompt/aip.ts'
import { placeOfOption, readCacheOption } from '../prompt/options.ts'
import { loadTemplates, type RenderTemplate } from '../prompt/template.ts'
import { type AttachmentSource, loadAttachments } from './attachments.ts'
import { fallbackModels, modelOf } from './options.ts'
import type { ScriptRun } from './script-run.ts'
import { aiResponse } from './ai-response.ts'

export interface PromptData {
  readonly context: RunContext
  readonly input: Json
  readonly data: Json | undefined
  readonly beforeAll: Json | undefined
  readonly attachments: readonly AttachmentSource[]
  readonly options: JsonObject
}

/**
 * Renders the prompt sections of an agent, asks its model, and gives what Output sees as `ai_response`; undefined when
 * nothing was asked: no section renders to text and there is no attachment, or the run is dry (spec/aipack.md 2.5, 2.6).
 */
export async function askAip(run: ScriptRun, document: AipDocument, task: PromptData): Promise<JsonObject | undefined> {
  if (document.parts.length === 0 && task.attachments.length === 0) return undefined
  const attached = loadAttachments(task.attachments, below(task.context, 'attachments'))
  const messages = [...attached, ...(await renderParts(run, document, task))]
  if (messages.length === 0 || task.context.dry === 'req') return undefined

  const { context, options } = task
  const { agent } = run.request
  const result = await context.agents.run(
    {
      agent: {
        kind: 'llm',
        name: agent.name,
        settings: modelSettings(options),
        fallbackModels: fallbackModels(options),
        takesEmpty: true,
      },
      messages,
    },
    below(context, 'ask'),
  )
  return aiResponse(result, { options, seconds: result.seconds ?? 0 })
}

/** AIPack sends temperature and top_p only, and an effort that is part of the model's name (spec/aipack.md 2.5). */
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
  const { render } = await loadTemplates()
  const data: JsonObject = {
    input: task.input,
    ...(task.data === undefined ? {} : { data: task.data }),
    ...(task.beforeAll === undefined ? {} : { before_all: task.beforeAll }),
  }
  const messages: Message[] = []
  for (const part of parts) {
    const message = await renderPart(part, { render, data, file: request.agent.file, text: request.agent.text })
    if (message.content.trim() !== '') messages.push(message)
  }
  return messages
}

interface Rendering {
  readonly render: RenderTemplate
  readonly data: JsonObject
  readonly file: string
  readonly text: string
}

/** The option string is rendered together with the body, as its first line (spec/aipack.md 1.4). */
async function renderPart(
  { role, optionText, content, line }: AipPart,
  { render, data, file, text }: Rendering,
): Promise<Message> {
  const place = { file, line, text }
  if (optionText === undefined) return { role, content: render(content, data, { ...place, line: line + 1 }) }
  const option = placeOfOption(place)
  const rendered = render(`${optionText}\n${content}`, data, option)
  const end = rendered.indexOf('\n')
  const cache = await readCacheOption(rendered.slice(0, end), option)
  return { role, content: rendered.slice(end + 1), ...(cache ? { cache: true } : {}) }
}
