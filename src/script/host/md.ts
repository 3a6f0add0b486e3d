import { BatonError, messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { type ExactJson, type ExactTable, JsonSyntaxError, parseStrictJson } from '../../base/json-text.ts'
import { isTable, type LuaTable, luaTypeName } from './arguments.ts'
import { type HostCall, Options } from './call.ts'
import { extractBlocks, extractMetaBlocks, extractReferences, type MetaBlock, outerBlockContent } from './markdown.ts'
import { type HostModule, several, slow } from './module.ts'

/** `aip.md`. */
export const mdModule: HostModule = {
  name: 'aip.md',
  functions: {
    /**
     * `aip.md.extract_blocks(text, lang?) → MdBlock[], string?` The fenced blocks as `{lang, content}`, all of them or
     * those of one language. Instead of `lang`, you can pass a table `{lang?, extrude = "content"}`: the second value
     * is then the text without these blocks. An unclosed fence is not a block.
     */
    extract_blocks: slow((call) => {
      const [, given] = call.args
      if (call.has(1) && typeof given !== 'string' && !isTable(given)) {
        throw call.error(`the options must be a language or a table, but were ${luaTypeName(given)}`)
      }
      const options = new Options(typeof given === 'string' ? { lang: given } : given, call.name)
      const wantsRest = options.extrude()
      const { blocks, rest } = extractBlocks(call.text(0), options.text('lang'))
      const tables = blocks.map((block) => ({ _type: 'MdBlock', ...block }))
      return wantsRest ? several(tables, rest) : tables
    }),
    /**
     * `aip.md.extract_meta(text?) → table, string` Merges the TOML, JSON and YAML blocks whose first line starts with
     * `#!meta` or `//!meta`; later ones take precedence, also among several YAML documents, and values that are not
     * tables are ignored. The second value is the text without them. nil returns nil twice; an invalid block is an
     * error that names the line.
     */
    extract_meta: slow(async (call) => {
      const content = call.optionalText(0)
      if (content === undefined) return several(undefined, undefined)
      const { blocks, rest } = extractMetaBlocks(content)
      const tables: LuaTable[] = []
      for (const block of blocks) tables.push(...(await tablesOf(block, content, call)))
      return several(Object.fromEntries(tables.flatMap((table) => Object.entries(table))), rest)
    }),
    /**
     * `aip.md.extract_refs(text?) → MdRef[]`
     * Links and images as `{target, text?, inline, kind}`; `kind` is `Anchor`, `File` or `Url`, and `inline` is true
     * for images. Fences and inline code are skipped. nil returns an empty list.
     */
    extract_refs: slow((call) =>
      extractReferences(call.optionalText(0) ?? '').map((reference) => ({ _type: 'MdRef', ...reference })),
    ),
    /**
     * `aip.md.outer_block_content_or_raw(text) → string`
     * The content between the first and last fence if the text starts with a fence; otherwise the text unchanged.
     */
    outer_block_content_or_raw: slow((call) => outerBlockContent(call.text(0))),
  },
}

async function tablesOf(block: MetaBlock, content: string, call: HostCall): Promise<readonly LuaTable[]> {
  const values = await valuesOf(block, content, call)
  return values.filter((value): value is ExactTable => isObject(value))
}

async function valuesOf(block: MetaBlock, content: string, call: HostCall): Promise<readonly ExactJson[]> {
  const source = {
    file: call.section.agentFile,
    text: content,
    block: block.content,
    firstLine: block.firstLine,
    what: 'the meta block',
    code: 'SCRIPT_FAILED',
  } as const
  try {
    if (block.lang === 'json') return [parseStrictJson(block.content)]
    if (block.lang === 'toml') return [await (await import('../../base/toml.ts')).parseExactToml(source)]
    return await (await import('../../base/yaml.ts')).parseYamlDocuments(source)
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      const where = `(line ${block.firstLine + error.line - 1} of the text)`
      throw call.error(`the meta block is not valid JSON: ${error.reason} ${where}`)
    }
    const line =
      error instanceof BatonError && error.place?.line !== undefined ? ` (line ${error.place.line} of the text)` : ''
    throw call.error(messageOf(error) + line)
  }
}
