import type { DataText, DataPath } from '../base/data-text.ts'
import type { SourcePlace } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import { parseToml } from '../base/toml.ts'
import { parseYaml } from '../base/yaml.ts'
import { chooseBlock, findLeadingBlock, type MetaBlock, type PromptText } from './front-matter.ts'
import { isBlank, linesOf, withoutMark } from './lines.ts'
import { readBody } from './transcript.ts'

interface PromptMeta {
  readonly data: JsonObject
  readonly language: 'toml' | 'yaml' | 'none'
  /** Position of a key or value in the prompt file; for what is not written, of the nearest part above it. */
  readonly locate: DataText['locate']
}

/** A prompt file as it is written, before any key has a meaning. Lines count from 1. */
export interface PromptDocument {
  /** As errors name it. */
  readonly file: string
  readonly text: string
  /** SHA-256 of the part above the `====` line: what a run reads, and what watching compares. */
  readonly hash: string
  readonly meta: PromptMeta
  /** Without front matter, transcript, and empty lines around it; line endings are `\n`. */
  readonly instruction: string
  /** Line the instruction begins on. */
  readonly instructionLine: number
  /** Line of the `====` that the transcript begins with. */
  readonly transcriptLine?: number
}

/**
 * Reads a prompt file in one of its three forms (DESIGN 4): TOML between `+++`, YAML between `---`, or one fenced
 * `toml` or `yaml` block that begins with `#!meta`; a file without front matter is an instruction alone.
 * @throws BatonError PROMPT_SYNTAX with file, line and column
 */
export async function parsePrompt(file: string, text: string): Promise<PromptDocument> {
  const clean = withoutMark(text)
  const prompt: PromptText = { file, text: clean, lines: linesOf(clean) }
  const leading = findLeadingBlock(prompt)
  const body = readBody(prompt.lines, leading === undefined ? 0 : leading.end + 1)
  const block = chooseBlock(prompt, leading, body.metas)
  const meta = await readMeta(prompt, block)
  const end = body.transcript ?? prompt.lines.length
  return {
    file,
    text: clean,
    hash: sha256(textAbove(clean, body.transcript)),
    meta,
    ...readInstruction(prompt.lines.slice(0, end), block),
    ...(body.transcript === undefined ? {} : { transcriptLine: body.transcript + 1 }),
  }
}

/**
 * The hash of what counts of a prompt file, from any text: of the part above its `====` line, or of all of it where it
 * cannot be told where that is. Equal exactly when `hash` of the documents is.
 */
export function hashPrompt(text: string): string {
  const clean = withoutMark(text)
  return sha256(textAbove(clean, transcriptOf(clean)))
}

/** The text without what stands below its `====` line: the same document, but for its transcript. */
export function withoutTranscript(text: string): string {
  const clean = withoutMark(text)
  const transcript = transcriptOf(clean)
  if (transcript === undefined) return text
  const end = clean.indexOf('\n', textAbove(clean, transcript).length)
  return end === -1 ? clean : clean.slice(0, end + 1)
}

/** Index of the `====` line; undefined also where it cannot be told. */
function transcriptOf(text: string): number | undefined {
  const lines = linesOf(text)
  try {
    const leading = findLeadingBlock({ file: '', text, lines })
    return readBody(lines, leading === undefined ? 0 : leading.end + 1).transcript
  } catch {
    // front matter that is not closed
    return undefined
  }
}

/** The place of a key or value of the front matter, for an error. */
export async function placeOf(document: PromptDocument, path: DataPath, part?: 'key' | 'value'): Promise<SourcePlace> {
  const { file, text, meta } = document
  return { file, text, ...(await meta.locate(path, part)) }
}

async function readMeta({ file, text, lines }: PromptText, block: MetaBlock | undefined): Promise<PromptMeta> {
  if (block === undefined) return { data: {}, language: 'none', locate: async () => undefined }
  const first = block.start + block.head
  const source = {
    file,
    text,
    block: lines.slice(first, block.end).join('\n'),
    firstLine: first + 1,
    what: 'the front matter',
    code: 'PROMPT_SYNTAX',
  } as const
  const read = block.language === 'toml' ? await parseToml(source) : await parseYaml(source)
  return { ...read, language: block.language }
}

function textAbove(text: string, transcript: number | undefined): string {
  if (transcript === undefined) return text
  let offset = 0
  for (let line = 0; line < transcript; line += 1) offset = text.indexOf('\n', offset) + 1
  return text.slice(0, offset)
}

function readInstruction(
  lines: readonly string[],
  block: MetaBlock | undefined,
): { readonly instruction: string; readonly instructionLine: number } {
  const kept = [...lines.entries()].filter(([index]) => block === undefined || index < block.start || index > block.end)
  const isText = ([, line]: readonly [number, string]): boolean => !isBlank(line)
  const first = kept.findIndex(isText)
  if (first === -1) return { instruction: '', instructionLine: (block?.end ?? 0) + 1 }
  const text = kept.slice(first, kept.findLastIndex(isText) + 1)
  return { instruction: text.map(([, line]) => line).join('\n'), instructionLine: (text[0]?.[0] ?? 0) + 1 }
}
