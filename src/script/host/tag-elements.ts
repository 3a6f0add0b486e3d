/** An element such as `<FILE path="a.md">…</FILE>` in the middle of any text. */
export interface TagElement {
  readonly tag: string
  /** Undefined when there are none. An attribute without a value is `''`. */
  readonly attrs: Readonly<Record<string, string>> | undefined
  readonly content: string
}

export interface TagElements {
  readonly elements: readonly TagElement[]
  /** The text without the elements. */
  readonly rest: string
}

// a value without quotes does not end in a slash: <NAME key=value/> closes itself
const attribute = String.raw`[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]*[^\s"'<>/]))?`

/**
 * Finds the outermost elements with these names (case-sensitive) in text order (spec/aipack.md 6.2, vector 65). An
 * element ends at the first closing tag of its name, or at once when it is written `<NAME/>`. An opening tag that is
 * never closed is text.
 */
export function findTagElements(text: string, names: readonly string[]): TagElements {
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
      // from here on there is no closing tag of this name, so nobody needs to look for one again
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
