import { isObject } from '../base/json.ts'
import { dataText } from './data-lines.ts'

/** What a model was asked, for people: each message under its role, then the parameters that were sent. */
export function promptText(request: unknown): string {
  if (!isObject(request)) return dataText(request)
  const { messages, provider, ...parameters } = request
  const parts = Array.isArray(messages) ? messages.map(messageText) : []
  const others = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const last = others.length === 0 ? [] : [`[parameters]\n${dataText(Object.fromEntries(others))}`]
  return [`[model]\n${String(provider)}`, ...parts, ...last].join('\n\n')
}

function messageText(message: unknown): string {
  if (!isObject(message)) return dataText(message)
  const { role, name, content, attachment, tool_calls } = message
  const title = typeof name === 'string' ? `${String(role)}: ${name}` : String(role)
  const file = isObject(attachment) ? [`(attached: ${String(attachment['name'])})`] : []
  const calls = Array.isArray(tool_calls) ? [dataText(tool_calls)] : []
  return [`[${title}]`, String(content).replace(/\n$/, ''), ...file, ...calls].join('\n')
}

/** What a model answered, without what differs every time. */
export function answerText(value: unknown): string {
  if (!isObject(value)) return dataText(value)
  const { text, toolCalls } = value
  const calls = Array.isArray(toolCalls) && toolCalls.length > 0 ? [dataText(toolCalls)] : []
  return [typeof text === 'string' ? text : '', ...calls].join('\n')
}
