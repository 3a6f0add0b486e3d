import { BatonError, messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { JsonSyntaxError, parseStrictJson } from '../../base/jsonc.ts'
import type { LuaValue } from '../engine.ts'
import {
  argumentError,
  extrudeOption,
  isTable,
  type LuaTable,
  luaTypeName,
  optionalText,
  optionsTable,
  text,
  textOption,
} from './arguments.ts'
import { extractBlocks, extractMetaBlocks, outerBlockContent, type MetaBlock } from './md-blocks.ts'
import { extractReferences } from './md-refs.ts'
import type { HostModule, Section } from './module.ts'

/** `aip.md` (spec/aipack.md 6.2, vectors 67 to 71). */
export const mdModule: HostModule = {
  name: 'aip.md',
  functions: {
    /**
     * `aip.md.extract_blocks(text, lang?) → MdBlock[], string?`
     * The fenced blocks as `{lang, content}`, all of them or those of one language. Instead of `lang` a table `{lang?,
     * extrude = "content"}` may stand: the second value is then the text without these blocks. A fence that is not
     * closed is no block.
     */
    extract_blocks: { effect: 'pure', call: ([content, options]) => blocksOf(content, options) },
    /**
     * `aip.md.extract_meta(text?) → table, string`
     * Merges the TOML, JSON and YAML blocks whose first line begins with `#!meta` or `//!meta`; later ones win. The
     * second value is the text without them. nil gives nil twice; a block that cannot be read is an error that names
     * the line.
     */
    // it changes nothing, but the parsers of the data are loaded at their first use, and only these calls can wait
    extract_meta: {
      effect: 'act',
      call: async ([content], section) => metaOf(optionalText(content, 'aip.md.extract_meta'), section),
    },
    /**
     * `aip.md.extract_refs(text?) → MdRef[]`
     * Links and images as `{target, text?, inline, kind}`; `kind` is `Anchor`, `File` or `Url`, and `inline` is true
     * for images. What stands in fences and inline code is not one. nil gives an empty list.
     */
    extract_refs: {
      effect: 'pure',
      call: ([content]) => {
        const references = extractReferences(optionalText(content, 'aip.md.extract_refs') ?? '')
        return [references.map((reference) => ({ _type: 'MdRef', ...reference }))]
      },
    },
    /**
     * `aip.md.outer_block_content_or_raw(text) → string`
     * What stands between the first and the last fence of a text that begins with a fence; every other text as it is.
     */
    outer_block_content_or_raw: {
      effect: 'pure',
      call: ([content]) => [outerBlockContent(text(content, 'aip.md.outer_block_content_or_raw'))],
    },
  },
}

function blocksOf(content: LuaValue, options: LuaValue): readonly LuaValue[] {
  const name = 'aip.md.extract_blocks'
  if (options !== undefined && options !== null && typeof options !== 'string' && !isTable(options)) {
    throw argumentError(name, `the options must be a language or a table, but were ${luaTypeName(options)}`)
  }
  const table = typeof options === 'string' ? { lang: options } : optionsTable(options, name)
  const wantsRest = extrudeOption(table, name)
  const { blocks, rest } = extractBlocks(text(content, name), textOption(table, 'lang', name))
  const tables = blocks.map((block) => ({ _type: 'MdBlock', ...block }))
  return wantsRest ? [tables, rest] : [tables]
}

async function metaOf(content: string | undefined, section: Section): Promise<readonly LuaValue[]> {
  if (content === undefined) return [undefined, undefined]
  const { blocks, rest } = extractMetaBlocks(content)
  const tables: LuaTable[] = []
  for (const block of blocks) tables.push(await dataOf(block, content, section))
  return [Object.fromEntries(tables.flatMap((table) => Object.entries(table))), rest]
}

async function dataOf(block: MetaBlock, content: string, { agentFile }: Section): Promise<LuaTable> {
  const source = {
    file: agentFile,
    text: content,
    block: block.content,
    firstLine: block.firstLine,
    what: 'the meta block',
    code: 'SCRIPT_FAILED',
  } as const
  try {
    if (block.lang === 'json') return strictObject(block.content)
    if (block.lang === 'toml') return await (await import('../../base/toml.ts')).parseExactToml(source)
    return await (await import('../../base/yaml.ts')).parseYamlTable(source)
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      const where = `(line ${block.firstLine + error.line - 1} of the text)`
      throw argumentError('aip.md.extract_meta', `the meta block is not valid JSON: ${error.reason} ${where}`)
    }
    const line =
      error instanceof BatonError && error.place?.line !== undefined ? ` (line ${error.place.line} of the text)` : ''
    throw argumentError('aip.md.extract_meta', messageOf(error) + line)
  }
}

function strictObject(json: string): LuaTable {
  const value = parseStrictJson(json)
  return isObject(value) ? (value as LuaTable) : {}
}
