import { withoutMark, isBlank } from '../base/text-lines.ts'
import type { DataPath, DataText } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { parseYaml } from '../base/yaml.ts'
import { isReserved } from '../settings/keys.ts'
import {
  findLayout,
  type Layout,
  lineOffset,
  lookalikeBlocks,
  metaBlock,
  type MetaBlock,
  misplacedBlock,
  type PromptText,
  transcriptOffset,
} from './layout.ts'
import { linesOf } from './lines.ts'

interface PromptMeta {
  readonly data: JsonObject
  readonly language: 'toml' | 'yaml' | 'none'
  /** Position of a key or value in the prompt file; if it is not written, of the nearest enclosing part. */
  readonly locate: DataText['locate']
}

/** A prompt file as written, before its keys are interpreted. Lines count from 1. */
export interface PromptDocument {
  /** The name of the file in errors. */
  readonly file: string
  readonly text: string
  /** SHA-256 of the part above the `====` line: what a run reads and what watching compares. */
  readonly hash: string
  readonly meta: PromptMeta
  /** Without front matter, transcript, and empty lines around it; line endings are `\n`. */
  readonly instruction: string
  readonly instructionLine: number
  /** Line of the `====` that starts the transcript. */
  readonly transcriptLine?: number
}

/**
 * Parses a prompt file in one of its three forms: TOML between `+++`, YAML between `---`, or one fenced `toml` or
 * `yaml` block that starts with `#!meta`; a file without front matter is only an instruction.
 * @throws BatonError PROMPT_SYNTAX with file, line and column; also for front matter with text above it
 */
export async function parsePrompt(file: string, text: string): Promise<PromptDocument> {
  const clean = withoutMark(text)
  const prompt: PromptText = { file, text: clean, lines: linesOf(clean) }
  const layout = findLayout(prompt)
  const { transcript } = layout
  const block = metaBlock(prompt, layout)
  if (block === undefined) await refuseMisplaced(prompt, layout)
  return {
    file,
    text: clean,
    hash: sha256(clean.slice(0, transcript === undefined ? undefined : lineOffset(clean, transcript))),
    meta: await readMeta(prompt, block),
    ...readInstruction(prompt.lines.slice(0, transcript), block),
    ...(transcript === undefined ? {} : { transcriptLine: transcript + 1 }),
  }
}

/**
 * The hash of the relevant part of a prompt file, computed from any text: the part above its `====` line, or all of it
 * if that line cannot be found. Equal exactly when `hash` of the documents is.
 */
export function hashPrompt(text: string): string {
  const clean = withoutMark(text)
  return sha256(clean.slice(0, offsetIfFound(clean)))
}

/** The text without what is below its `====` line: the same document without its transcript. */
export function withoutTranscript(text: string): string {
  const clean = withoutMark(text)
  const offset = offsetIfFound(clean)
  if (offset === undefined) return text
  const end = clean.indexOf('\n', offset)
  return end === -1 ? clean : clean.slice(0, end + 1)
}

/** Also undefined if the front matter is not closed. */
function offsetIfFound(text: string): number | undefined {
  try {
    return transcriptOffset({ file: '', text })
  } catch {
    return undefined
  }
}

/** The place of a key or value of the front matter, for an error. */
export async function placeOf(document: PromptDocument, path: DataPath, part?: 'key' | 'value'): Promise<SourcePlace> {
  const { file, text, meta } = document
  return { file, text, ...(await meta.locate(path, part)) }
}

/** @throws BatonError PROMPT_SYNTAX for front matter with text above it: a table with a reserved key */
async function refuseMisplaced(prompt: PromptText, layout: Layout): Promise<void> {
  for (const block of lookalikeBlocks(prompt, layout)) {
    const { data } = await readMeta(prompt, block).catch(() => ({ data: {} }))
    if (Object.keys(data).some(isReserved)) throw misplacedBlock(prompt, block)
  }
}

async function readMeta({ file, text, lines }: PromptText, block: MetaBlock | undefined): Promise<PromptMeta> {
  if (block === undefined) return { data: {}, language: 'none', locate: async () => undefined }
  const { language, end } = block
  const first = block.start + block.head
  const source = {
    file,
    text,
    block: lines.slice(first, end).join('\n'),
    firstLine: first + 1,
    what: 'the front matter',
    code: 'PROMPT_SYNTAX',
  } as const
  return { ...(await (language === 'toml' ? parseToml(source) : parseYaml(source))), language }
}

function readInstruction(
  lines: readonly string[],
  block: MetaBlock | undefined,
): { readonly instruction: string; readonly instructionLine: number } {
  const kept = [...lines.entries()].filter(
    ([index]) => block === undefined || index > block.end || (index < block.start && !block.isAlone),
  )
  const isText = ([, line]: readonly [number, string]): boolean => !isBlank(line)
  const first = kept.findIndex(isText)
  if (first === -1) return { instruction: '', instructionLine: (block?.end ?? 0) + 1 }
  const text = kept.slice(first, kept.findLastIndex(isText) + 1)
  return { instruction: text.map(([, line]) => line).join('\n'), instructionLine: (text[0]?.[0] ?? 0) + 1 }
}
