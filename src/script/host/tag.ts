import type { LuaValue } from '../engine.ts'
import { argumentError, extrudeOption, optionsTable, text, textList } from './arguments.ts'
import type { HostModule, ModuleFunction } from './module.ts'
import { findTagElements, type TagElement } from './tag-elements.ts'

/** `aip.tag` (spec/aipack.md 6.2, vectors 65 and 66). The second value comes only with `extrude = "content"`. */
export const tagModule: HostModule = {
  name: 'aip.tag',
  functions: {
    /**
     * `aip.tag.extract(text, names, {extrude?}?) → {tag, attrs?, content}[], string?`
     * The elements with one of these names (a string or a list, exact in case), also `<name/>`. With `extrude =
     * "content"` the second value is the text without them. An empty name or list is an error.
     */
    extract: extracting('extract', (elements) => elements.map(tagTable)),
    /**
     * `aip.tag.extract_as_map(text, names, {extrude?}?) → {name → element}, string?`
     * The same as a table with the last element of each name.
     */
    extract_as_map: extracting('extract_as_map', (elements) =>
      Object.fromEntries(elements.map((element) => [element.tag, tagTable(element)])),
    ),
    /**
     * `aip.tag.extract_as_multi_map(text, names, {extrude?}?) → {name → elements}, string?`
     * The same as a table with the list of elements of each name.
     */
    extract_as_multi_map: extracting('extract_as_multi_map', (elements) => {
      const tags = [...new Set(elements.map(({ tag }) => tag))]
      return Object.fromEntries(tags.map((tag) => [tag, elements.filter((found) => found.tag === tag).map(tagTable)]))
    }),
  },
}

function extracting(name: string, shape: (elements: readonly TagElement[]) => LuaValue): ModuleFunction {
  const full = `aip.tag.${name}`
  return {
    effect: 'pure',
    call: ([content, names, options]) => {
      const wantsRest = extrudeOption(optionsTable(options, full), full)
      const { elements, rest } = findTagElements(text(content, full, 'the text'), tagNames(names, full))
      return wantsRest ? [shape(elements), rest] : [shape(elements)]
    },
  }
}

function tagNames(value: LuaValue, name: string): readonly string[] {
  const names = textList(value, name, 'the tag names').map((tag) => tag.trim())
  if (names.length === 0) throw argumentError(name, 'the tag names must not be empty')
  if (names.includes('')) throw argumentError(name, 'a tag name must not be empty')
  return names
}

function tagTable({ tag, attrs, content }: TagElement): LuaValue {
  return { tag, attrs, content }
}
