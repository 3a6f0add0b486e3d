import type { DataSource } from '../../base/data-text.ts'
import { BatonError, messageOf } from '../../base/error.ts'
import { parseExactToml } from '../../base/toml.ts'
import { parseYamlDocuments } from '../../base/yaml.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError } from './arguments.ts'

export interface TextSource {
  readonly text: string
  /** What the text is, in messages: `the text`, or the file as the script named it. */
  readonly what: string
  /** What messages begin with. */
  readonly name: string
}

/** @throws BatonError SCRIPT_FAILED naming the line of the text */
export async function readToml(source: TextSource): Promise<LuaValue> {
  return located(source, parseExactToml)
}

/** All documents of a YAML text, in order. @throws BatonError SCRIPT_FAILED naming the line of the text */
export async function readYaml(source: TextSource): Promise<readonly LuaValue[]> {
  return located(source, parseYamlDocuments)
}

async function located<T>({ text, what, name }: TextSource, parse: (source: DataSource) => Promise<T>): Promise<T> {
  try {
    return await parse({ file: what, text, block: text, firstLine: 1, what, code: 'SCRIPT_FAILED' })
  } catch (error) {
    if (!(error instanceof BatonError) || error.place?.line === undefined) throw error
    const { line, column = 1 } = error.place
    throw argumentError(name, `${messageOf(error)} (line ${line}, column ${column})`)
  }
}
