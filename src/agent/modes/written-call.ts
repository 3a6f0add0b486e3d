import { isObject } from '../../base/json.ts'
import { modelText } from '../../base/model-text.ts'
import { type MarkdownFence, nextMarkdownFence } from '../../prompt/lines.ts'

/**
 * The tool that an answer calls in its text instead of by a tool call, as models do whose server does not know the form
 * of their calls; undefined if it calls none. The call must be outside code fences and quotations, be everything from
 * there to the end of the answer, and name one of the `tools`. `json`: whether bare JSON counts; not if the answer has
 * to be JSON.
 */
export function writtenCall(
  answer: string,
  tools: readonly string[],
  { json = true }: { readonly json?: boolean } = {},
): string | undefined {
  const text = answer.trimEnd()
  if (!/[>}\]]$/.test(text)) return undefined
  let fence: MarkdownFence | undefined
  let start = 0
  for (const line of text.split('\n')) {
    const before = fence
    fence = nextMarkdownFence(fence, line)
    const isFenced = before !== undefined || fence !== undefined
    const at = isFenced || /^\s*>/.test(line) ? undefined : callStart(line)
    const rest = at === undefined ? undefined : text.slice(start + at)
    const name =
      rest === undefined ? undefined : /^[{[](?!TOOL)/.test(rest) ? json && namedInJson(rest) : namedInTag(rest)
    const tool = tools.find((one) => one === name || (typeof name === 'string' && name.replace(owner, '') === one))
    if (tool !== undefined) return tool
    start += line.length + 1
  }
  return undefined
}

/**
 * The name in an answer that is a call of some tool and nothing else: it begins with a mark of a call and ends with it.
 * Undefined for any other answer.
 */
export function strayCall(answer: string): string | undefined {
  const text = answer.trim()
  const found = new RegExp(mark.source, 'i').exec(text)
  return found?.index === 0 && /[>}\]]$/.test(text) ? namedInTag(text) : undefined
}

/**
 * The tool of a call in JSON that is fenced and all that an answer consists of: what small models write whose server does
 * not know the form of their calls, and what somebody gets who wants to see one. Undefined for any other answer.
 */
export function fencedCall(answer: string, tools: readonly string[]): string | undefined {
  const [, , inner = ''] = /^(`{3,}|~{3,})(?:json|tool_call|tool_code)?[ \t]*\n([^]*?)\n\1$/.exec(answer.trim()) ?? []
  const name = inner === '' ? undefined : namedInJson(inner)
  return tools.find((one) => one === name || (name !== undefined && name.replace(owner, '') === one))
}

/** What some models write before the name of a tool. */
const owner = /^(?:functions|default_api|tools)[.:]/

/** The marks with which models begin calls; several servers leave them in the text. */
const mark =
  /<\|?(?:tool_calls?|function_calls?|python_tag)\|?>|<function=[\w.:-]+|<invoke\s+name=|\[TOOL_CALLS?\]|<[|｜]tool▁calls?▁begin[|｜]>/gi

/** Where a call may begin in a line: at JSON at its start, or at a mark outside inline code and quotation marks. */
function callStart(line: string): number | undefined {
  const start = line.length - line.trimStart().length
  if (start < 4 && (line[start] === '{' || line.startsWith('[{', start))) return start
  for (const { index } of line.matchAll(mark)) {
    const before = line.slice(0, index)
    if (before.split('`').length % 2 === 1 && !/["'“‘«]$/.test(before)) return index
  }
  return undefined
}

const names = [
  /"(?:name|tool|tool_name)"\s*:\s*"([^"]+)"/,
  /<function=([\w.:-]+)/,
  /<invoke\s+name=["']?([\w.:-]+)/,
  /\[TOOL_CALLS?\]\s*([\w.:-]+)\s*[[{]/,
  /<tool_call>\s*([\w.:-]+)\s*[\n<{]/,
  /<[|｜]tool▁sep[|｜]>\s*([\w.:-]+)/,
]

/** The name that stands first behind a mark. */
function namedInTag(text: string): string | undefined {
  const found = names.map((name) => name.exec(text)).filter((match) => match !== null)
  return found.toSorted((left, right) => left.index - right.index)[0]?.[1]
}

/** The name of the first call if a text is a call in JSON, a list of them, or one on each line. */
function namedInJson(text: string): string | undefined {
  const values =
    jsonOf(text) ??
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => jsonOf(line)?.[0])
  const called = values.flatMap((value) => (Array.isArray(value) ? (value as readonly unknown[]) : [value])).map(nameIn)
  return called.includes(undefined) ? undefined : called[0]
}

function jsonOf(text: string): readonly unknown[] | undefined {
  try {
    return [JSON.parse(text)]
  } catch {
    return undefined
  }
}

/** What a call in JSON may consist of. */
const keys = [
  'name',
  'tool',
  'tool_name',
  'arguments',
  'parameters',
  'args',
  'input',
  'id',
  'type',
  'index',
  'function',
]

function nameIn(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  const { function: inner, tool_calls: list } = value
  if (Array.isArray(list)) return nameIn(list[0])
  if (!Object.keys(value).every((key) => keys.includes(key))) return undefined
  if (isObject(inner)) return nameIn(inner)
  const name = value['name'] ?? value['tool'] ?? value['tool_name'] ?? inner
  const hasInput = ['arguments', 'parameters', 'args', 'input'].some((key) => key in value)
  return typeof name === 'string' && hasInput ? name : undefined
}

/** Asks a model that wrote a call as text to make it. */
export function makeCallMessage(tool: string): string {
  return modelText`Your last answer contains a call of the tool "${tool}" as text. It was not run: text is never run. If you mean it, call the tool now, as a tool call of this API and not in your text. If not, answer without such a text.`
}

/** The cause of the failure of a model that wrote its call as text again: the text that it answered with. */
export class WrittenCall extends Error {
  readonly text: string

  constructor(text: string) {
    super('a tool call was written as text')
    this.text = text
  }
}
