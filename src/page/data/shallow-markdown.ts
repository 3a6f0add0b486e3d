/** Deeper quotes, lists and tags freeze a browser, and nobody can read them. */
const mostLevels = 50

/** What stands for what is left out. */
const note = `… (cut: nested deeper than ${mostLevels} levels)`

/** Quotes and lists at the start of a line. */
const marks = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))/y
const fence = /^ {0,3}(`{3,}|~{3,})/
const tag = /<(\/?)([a-zA-Z][a-zA-Z0-9-]*)/g
/** Elements without content, and those that end where the next one begins. */
const flat: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta param source track wbr li p tr td th thead tbody dt dd option'.split(
    ' ',
  ),
)

/**
 * Markdown whose quotes, lists, brackets and emphasis are nested 50 levels at most: of a line that goes deeper, the start
 * is kept, with a note. Code is left as it is. Takes linear time.
 */
export function shallowMarkdown(text: string): string {
  let code: string | undefined
  const lines = text.split('\n').map((line) => {
    const [, ticks] = fence.exec(line) ?? []
    if (code === undefined && ticks === undefined) return shallowLine(line)
    if (code === undefined) code = ticks
    else if (ticks?.startsWith(code) === true) code = undefined
    return line
  })
  return lines.join('\n')
}

/** The start of a markup whose elements would be nested deeper than 50 levels, with a note. Takes linear time. */
export function shallowMarkup(markup: string): string {
  let level = 0
  for (const { 1: slash, 2: name = '', index } of markup.matchAll(tag)) {
    if (flat.has(name.toLowerCase())) continue
    level = slash === '/' ? Math.max(0, level - 1) : level + 1
    if (level > 2 * mostLevels) return `${markup.slice(0, index)}<p>${note}</p>`
  }
  return markup
}

function shallowLine(line: string): string {
  let at = 0
  for (let level = 0; ; level += 1) {
    marks.lastIndex = at
    const [mark] = marks.exec(line) ?? []
    if (mark === undefined) break
    // a list in a list is indented by its level
    if (level >= mostLevels || mark.length > 2 * mostLevels) return `${line.slice(0, at)} ${note}`
    at = marks.lastIndex
  }
  return shallowRuns(line)
}

/** Brackets and marks of emphasis that only open. */
function shallowRuns(line: string): string {
  let open = 0
  for (const { 0: run, index } of line.matchAll(/[[\]]|[*_~]+/g)) {
    if (run === ']') open = Math.max(0, open - 1)
    else open += 1
    const isTooLong = run.length > 20 * mostLevels && run.length < line.trim().length
    if (open > 20 * mostLevels || isTooLong) return `${line.slice(0, index)} ${note}`
  }
  return line
}
