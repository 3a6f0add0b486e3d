import type { LuaValue } from '../engine.ts'
import type { HostCall } from './call.ts'
import { type HostModule, type ModuleFunction, several, slow } from './module.ts'

/** `aip.tag`. The second value is returned only with `extrude = "content"`. */
export const tagModule: HostModule = {
  name: 'aip.tag',
  functions: {
    /**
     * `aip.tag.extract(text, names, {extrude?}?) → {tag, attrs?, content}[], string?`
     * The elements with one of these names (a string or a list, case-sensitive), including `<name/>`. With
     * `extrude = "content"` the second value is the text without them. An empty name or list is an error.
     */
    extract: extracting((elements) => elements.map(tagTable)),
    /**
     * `aip.tag.extract_as_map(text, names, {extrude?}?) → {name → element}, string?`
     * The same, as a table with the last element for each name.
     */
    extract_as_map: extracting((elements) =>
      Object.fromEntries(elements.map((element) => [element.tag, tagTable(element)])),
    ),
    /**
     * `aip.tag.extract_as_multi_map(text, names, {extrude?}?) → {name → elements}, string?`
     * The same, as a table with a list of elements for each name.
     */
    extract_as_multi_map: extracting((elements) => {
      const tags = [...new Set(elements.map(({ tag }) => tag))]
      return Object.fromEntries(tags.map((tag) => [tag, elements.filter((found) => found.tag === tag).map(tagTable)]))
    }),
  },
}

function extracting(shape: (elements: readonly TagElement[]) => LuaValue): ModuleFunction {
  return slow((call) => {
    const wantsRest = call.options(2).extrude()
    const { elements, rest } = findTagElements(call.text(0, 'the text'), tagNames(call))
    return wantsRest ? several(shape(elements), rest) : shape(elements)
  })
}

function tagNames(call: HostCall): readonly string[] {
  const names = call.textList(1, 'the tag names').map((tag) => tag.trim())
  if (names.length === 0) throw call.error('the tag names must not be empty')
  if (names.includes('')) throw call.error('a tag name must not be empty')
  return names
}

function tagTable({ tag, attrs, content }: TagElement): LuaValue {
  return { tag, attrs, content }
}

/** An element such as `<FILE path="a.md">…</FILE>` anywhere in a text. */
interface TagElement {
  readonly tag: string
  /** Undefined when there are none. An attribute without a value is `''`. */
  readonly attrs: Readonly<Record<string, string>> | undefined
  readonly content: string
}

// an unquoted value does not end in a slash: <NAME key=value/> is self-closing
const attribute = String.raw`[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]*[^\s"'<>/]))?`

/**
 * Finds the outermost elements with these names (case-sensitive) in text order. An element ends at the first closing
 * tag of its name; `<NAME/>` is empty. An opening tag that is never closed is text.
 */
function findTagElements(text: string, names: readonly string[]) {
  const opening = openingPattern(names)
  const unclosed = new Set<string>()
  const elements: TagElement[] = []
  const rest: string[] = []
  let end = 0
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const [all, tag = '', attributes = '', slash] = match
    const start = match.index + all.length
    const close = slash === '/' ? start : unclosed.has(tag) ? -1 : text.indexOf(`</${tag}>`, start)
    if (close === -1) {
      // there is no closing tag of this name from here on, so do not search for one again
      unclosed.add(tag)
      continue
    }
    elements.push({ tag, attrs: readAttributes(attributes), content: text.slice(start, close) })
    rest.push(text.slice(end, match.index))
    end = slash === '/' ? start : close + tag.length + 3
    opening.lastIndex = end
  }
  return { elements, rest: rest.join('') + text.slice(end) }
}

function openingPattern(names: readonly string[]): RegExp {
  const either = names.map((name) => name.replaceAll(/[^\w]/g, String.raw`\$&`)).join('|')
  return new RegExp(String.raw`<(${either})((?:\s+${attribute})*)\s*(/?)>`, 'g')
}

function readAttributes(text: string): Readonly<Record<string, string>> | undefined {
  const entries = [...text.matchAll(new RegExp(attribute, 'g'))].map(([all]): readonly [string, string] => {
    const equals = all.indexOf('=')
    if (equals === -1) return [all, '']
    const value = all.slice(equals + 1).trim()
    return [all.slice(0, equals).trim(), /^["']/.test(value) ? value.slice(1, -1) : value]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
