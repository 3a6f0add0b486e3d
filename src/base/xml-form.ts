/** Far more than office formats need; XML readers recurse for each level. */
const mostLevels = 1_000

/**
 * Why XML must not be passed to a library that is very slow on malformed input; undefined if it may. Markup must be
 * closed, elements balanced and at most 1000 levels deep, and there must be no document type, whose entities can
 * multiply text. Visits each character once.
 */
export function xmlFault(text: string): string | undefined {
  let level = 0
  for (let at = text.indexOf('<'); at !== -1;) {
    const other = sections.find(({ begin }) => text.startsWith(begin, at))
    if (other?.end === undefined && other !== undefined) return 'has a document type, which is not supported'
    const end = other?.end === undefined ? tagEnd(text, at + 1) : endBehind(text, other.end, at + other.begin.length)
    if (end === -1) return `has markup at character ${at} that is not closed`
    if (other === undefined) {
      const isEnd = text[at + 1] === '/'
      level += isEnd ? -1 : text[end - 2] === '/' ? 0 : 1
      if (level < 0) return `closes an element at character ${at} that is not open`
      if (level > mostLevels) return `is nested deeper than ${mostLevels} levels`
    }
    at = text.indexOf('<', end)
  }
  return level === 0 ? undefined : 'ends before its elements are closed'
}

/** Markup other than tags. */
const sections: readonly { readonly begin: string; readonly end?: string }[] = [
  { begin: '<!--', end: '-->' },
  { begin: '<![CDATA[', end: ']]>' },
  { begin: '<?', end: '?>' },
  { begin: '<!' },
]

function endBehind(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at === -1 ? -1 : at + mark.length
}

/** The position after the `>` of a tag; quoted values may contain one. */
function tagEnd(text: string, from: number): number {
  const special = /["'<>]/g
  special.lastIndex = from
  for (let found = special.exec(text); found !== null; found = special.exec(text)) {
    const [mark] = found
    if (mark === '>') return special.lastIndex
    const end = mark === '<' ? -1 : text.indexOf(mark, special.lastIndex)
    if (end === -1) return -1
    special.lastIndex = end + 1
  }
  return -1
}
