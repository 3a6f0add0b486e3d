import type { DataPath, DataText } from '../base/data-text.ts'
import { sha256 } from '../base/hash.ts'
import type { JsonObject } from '../base/json.ts'
import type { PromptDocument } from '../prompt/document.ts'
import type { DefinedAgent, DefinitionSource } from './agent-definitions.ts'
import { parseAgentFile } from './foreign-agent.ts'
import { readTomlFile } from '../base/toml.ts'

type DefinedPrompt = Pick<Extract<DefinedAgent, { readonly kind: 'prompt' }>, 'name' | 'text' | 'defined'>

/** A definition as a prompt file, with the positions of its parts in the file that defines it. */
export async function definitionDocument({ name, text, defined }: DefinedPrompt): Promise<PromptDocument> {
  const [header, instruction] = split(text)
  const { data } = await readTomlFile(name, header)
  const base = { hash: sha256(text), instruction }
  const [source] = defined?.sources ?? []
  if (source === undefined) {
    const meta = { data, language: 'toml', locate: async () => undefined } as const
    return { ...base, file: `the agent ${name}`, text, meta, instructionLine: 1 }
  }
  const { data: written, locate } = await readWritten(source)
  const at = (path: DataPath): DataPath => (has(written, [...source.at, ...path]) ? [...source.at, ...path] : source.at)
  const own: DataText['locate'] = (path, part) => locate(at(path), part)
  const position = await own(['instructions'])
  return {
    ...base,
    file: source.shown,
    text: source.text,
    meta: { data, language: 'toml', locate: own },
    instructionLine: position?.line ?? 1,
  }
}

/** For text made by `joinParts`. */
function split(text: string): readonly [header: string, instruction: string] {
  const end = text.indexOf('\n+++\n\n')
  return end === -1 ? ['', text.replace(/^\+\+\+\n\+\+\+\n\n/, '')] : [text.slice(4, end + 1), text.slice(end + 6)]
}

async function readWritten({ form, shown, text }: DefinitionSource): Promise<DataText> {
  return form === 'config' ? readTomlFile(shown, text) : (await parseAgentFile(shown, text)).meta
}

function has(data: JsonObject, path: DataPath): boolean {
  let value: unknown = data
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return false
    value = (value as { readonly [key: string]: unknown })[String(step)]
  }
  return true
}
