import { messageOf } from '../base/error.ts'
import { isJsonObject, type JsonObject, parseSentJson } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { type MarkdownFence, nextMarkdownFence } from '../prompt/lines.ts'

export type AnswerTable =
  | { readonly kind: 'table'; readonly table: JsonObject }
  /** `problem` completes the sentence "the answer …". */
  | { readonly kind: 'wrong'; readonly problem: string }

interface Block {
  readonly language: string
  readonly text: string
}

/**
 * Parses the table in an answer, JSON or TOML: the whole text, else the first outermost fenced block labeled as one of
 * them, else the first without a label.
 */
export async function readAnswerTable(text: string): Promise<AnswerTable> {
  if (text.trim() === '') return { kind: 'wrong', problem: 'is empty' }
  const whole = await readBlock({ language: '', text })
  if (whole.kind === 'table') return whole
  const blocks = fencedBlocks(text)
  const block =
    blocks.find(({ language }) => language === 'json' || language === 'toml') ??
    blocks.find(({ language }) => language === '')
  return block === undefined ? whole : readBlock(block)
}

function fencedBlocks(text: string): readonly Block[] {
  const blocks: Block[] = []
  let open: MarkdownFence | undefined
  let lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const next = nextMarkdownFence(open, line)
    if (open !== undefined && next === undefined) blocks.push({ language: open.language, text: lines.join('\n') })
    if (open === undefined) lines = []
    else lines.push(line)
    open = next
  }
  return blocks
}

function readBlock({ language, text }: Block): AnswerTable | Promise<AnswerTable> {
  return language === 'json' || (language === '' && /^\s*\{/.test(text)) ? readJson(text) : readToml(text)
}

function readJson(text: string): AnswerTable {
  try {
    const value = parseSentJson(text)
    return isJsonObject(value) ? { kind: 'table', table: value } : { kind: 'wrong', problem: 'is not a table' }
  } catch (error) {
    return { kind: 'wrong', problem: `is not valid JSON: ${messageOf(error)}` }
  }
}

async function readToml(text: string): Promise<AnswerTable> {
  const source = { file: 'answer', text, block: text, firstLine: 1, what: 'it', code: 'AGENT_FAILED' } as const
  try {
    return { kind: 'table', table: (await parseToml(source)).data }
  } catch (error) {
    return { kind: 'wrong', problem: messageOf(error).replace(/^it /, '') }
  }
}
