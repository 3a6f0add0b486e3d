import { nearest } from '../base/suggest.ts'

/** A problem in a template. Offsets count from 0, in the template as written. */
export interface TemplateProblem {
  /** Completes the sentence "the template cannot be rendered: …". */
  readonly message: string
  readonly hint?: string
  readonly start?: number
  readonly end?: number
}

/**
 * Rewrites a template of handlebars-rust without escaping so that Handlebars 4 parses it the same way: `{{{x}}}` is
 * `{{x}}`, `{{x}}}` is an expression and a literal `}`, and `a.0` is `a.[0]`. Comments, raw blocks and escaped braces
 * are left alone.
 */
export function adaptTemplate(template: string): string {
  let result = ''
  let position = 0
  for (const { start, end, adapted } of templateTags(template)) {
    result += template.slice(position, start) + adapted
    position = end
  }
  return result + template.slice(position)
}

/** A tag of a template; comments, raw blocks and escaped braces are `verbatim`. */
interface TemplateTag {
  readonly kind: 'expression' | 'verbatim' | 'open-ended'
  readonly start: number
  /** Where the text after the tag starts. */
  readonly end: number
  /** In the form for Handlebars 4. */
  readonly adapted: string
}

function* templateTags(template: string): Generator<TemplateTag> {
  for (let open = template.indexOf('{{'); open !== -1;) {
    const tag = readTag(template, open)
    yield tag
    open = template.indexOf('{{', tag.end)
  }
}

function readTag(template: string, start: number): TemplateTag {
  const verbatim = verbatimEnd(template, start)
  if (verbatim !== undefined) {
    return { kind: 'verbatim', start, end: verbatim, adapted: template.slice(start, verbatim) }
  }
  const triple = template.startsWith('{{{', start)
  const inner = start + (triple ? 3 : 2)
  const close = closingBraces(template, inner)
  if (close === -1) return { kind: 'open-ended', start, end: template.length, adapted: template.slice(start) }

  const body = adaptPaths(template.slice(inner, close))
  const end = close + (triple && template.startsWith('}}}', close) ? 3 : 2)
  const isFollowed = template[end] === '}'
  const adapted = `{{${body}}}${isFollowed ? `{{${closingBrace}}}` : ''}`
  return { kind: 'expression', start, end: isFollowed ? end + 1 : end, adapted }
}

/** Name of the helper that prints the `}` which Handlebars cannot parse after an expression. */
export const closingBrace = '__closing_brace'

/** The end of a verbatim part: an escaped mustache, a raw block, a comment. */
function verbatimEnd(template: string, open: number): number | undefined {
  if (template[open - 1] === '\\') return open + 2
  if (template.startsWith('{{{{', open)) return endAfter(template, '}}}}', template.indexOf('{{{{/', open + 4))
  const comment = /^\{\{~?!(--)?/.exec(template.slice(open, open + 6))
  if (comment === null) return undefined
  return endAfter(template, comment[1] === undefined ? '}}' : '--}}', open)
}

function endAfter(template: string, mark: string, from: number): number {
  const at = from === -1 ? -1 : template.indexOf(mark, from)
  return at === -1 ? template.length : at + mark.length
}

/** The `}}` that closes an expression, which may contain strings. */
function closingBraces(template: string, from: number): number {
  let quote: string | undefined
  for (let at = from; at < template.length; at += 1) {
    const character = template[at]
    if (quote !== undefined) quote = character === quote ? undefined : quote
    else if (character === '"' || character === "'") quote = character
    else if (template.startsWith('}}', at)) return at
  }
  return template.indexOf('}}', from)
}

/** `items.0.path` → `items.[0].path`, outside strings. */
function adaptPaths(body: string): string {
  return body.replaceAll(/"[^"]*"|'[^']*'|(?<=[\w\])@])\.(\d+)(?=[.\s)}~|=]|$)/g, (found, index: string | undefined) =>
    index === undefined ? found : `.[${index}]`,
  )
}

interface Expression extends TemplateTag {
  readonly sign: 'value' | 'open' | 'close' | 'inverse' | 'partial'
  /** The words in it, without its sign. */
  readonly body: string
  /** The first word. */
  readonly name: string
}

/** Far more than real templates have: the parser takes a second for that many, and much longer for deeper blocks. */
const mostTags = 5_000
const mostDepth = 100
/** One problem causes many others. */
const mostProblems = 50

/** Blocks whose body is rendered at most once. */
const choices: ReadonlySet<string> = new Set('if unless with eq ne gt gte lt lte and or not raw'.split(' '))

/** The number of tags and calls of a template, and the nesting depth of its blocks that may be loops. */
export function shapeOf(template: string): { readonly tags: number; readonly loops: number } {
  let [tags, loops] = [0, 0]
  const open: boolean[] = []
  let depth = 0
  for (const tag of templateTags(template)) {
    tags += 1
    if (tag.kind !== 'expression' || tags > mostTags) continue
    const { sign, name } = readExpression(template, tag)
    if (sign === 'open') open.push(!choices.has(name))
    if (sign === 'open' && open.at(-1) === true) depth += 1
    if (sign === 'close' && open.pop() === true) depth -= 1
    loops = Math.max(loops, depth)
  }
  return { tags: tags + (template.match(/\(/g)?.length ?? 0), loops }
}

/** What would take the parser too long: too many expressions, or blocks that are nested too deep. */
export function sizeProblem(template: string): TemplateProblem | undefined {
  const hint = 'Prepare the text in a script, and insert it as one value.'
  let [count, depth] = [0, 0]
  for (const tag of templateTags(template)) {
    const at = { hint, start: tag.start, end: tag.end }
    count += 1
    if (count > mostTags) return { message: `it has more than ${mostTags} expressions`, ...at }
    if (tag.kind !== 'expression') continue
    const { sign, body } = readExpression(template, tag)
    if (callDepth(body) > mostDepth) return { message: `its calls are nested deeper than ${mostDepth} levels`, ...at }
    depth += sign === 'open' ? 1 : sign === 'close' ? -1 : 0
    if (depth > mostDepth) return { message: `its blocks are nested deeper than ${mostDepth} levels`, ...at }
  }
  return undefined
}

/** How deeply the calls in an expression are nested; brackets in texts count too. */
function callDepth(body: string): number {
  let [open, deepest] = [0, 0]
  for (const [bracket] of body.matchAll(/[()]/g)) {
    open += bracket === '(' ? 1 : -1
    deepest = Math.max(deepest, open)
  }
  return deepest
}

/**
 * Mismatched tags of a template, in order, at most 50: unclosed braces and blocks, and ends of blocks that were not
 * opened. The parser reports such problems without a position.
 */
export function tagProblems(template: string): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = []
  const open: Expression[] = []
  for (const tag of templateTags(template)) {
    const { start } = tag
    if (tag.kind === 'open-ended') {
      const hint = 'Close it with }}; text with braces is written \\{{.'
      const [line = ''] = template.slice(start).split('\n', 1)
      problems.push({ message: 'the {{ is not closed', hint, start, end: start + line.length })
    }
    if (tag.kind !== 'expression') continue
    const expression = readExpression(template, tag)
    const at = { start, end: tag.end }
    if (expression.sign === 'partial')
      problems.push({ message: 'partials are not supported', hint: 'Write the text here, or pass it as data.', ...at })
    if (expression.sign === 'open') open.push(expression)
    if (expression.sign === 'close') problems.push(...closeProblems(expression, open.pop()))
  }
  const unclosed = open.map(({ name, start, end }) => {
    const shown = shortened(name)
    return { message: `{{#${shown}}} is not closed`, hint: `End the block with {{/${shown}}}.`, start, end }
  })
  return [...problems, ...unclosed]
    .toSorted((left, right) => (left.start ?? 0) - (right.start ?? 0))
    .slice(0, mostProblems)
}

function closeProblems({ name, start, end }: Expression, opened: Expression | undefined): readonly TemplateProblem[] {
  const shown = shortened(name)
  if (opened === undefined) {
    const hint = `Start the block with {{#${shown} …}}, or remove it.`
    return [{ message: `{{/${shown}}} closes nothing`, hint, start, end }]
  }
  if (opened.name === name) return []
  const hint = `Write {{/${shortened(opened.name)}}} here, or close the inner block first.`
  return [{ message: `{{/${shown}}} closes {{#${shortened(opened.name)}}}`, hint, start, end }]
}

function readExpression(template: string, tag: TemplateTag): Expression {
  const written = template.slice(tag.start, tag.end)
  const [, mark = '', inside = ''] = /^\{{2,3}~?\s*([#/^>&*]*)([^]*?)~?\}{2,4}$/.exec(written) ?? []
  const body = inside.trim()
  const name = /^[^\s}|]+/.exec(body)?.[0] ?? ''
  return { ...tag, body, name, sign: signOf(mark, name) }
}

function signOf(mark: string, name: string): Expression['sign'] {
  if (mark.endsWith('>')) return 'partial'
  if (mark.startsWith('#')) return 'open'
  if (mark.startsWith('/')) return 'close'
  // {{^}} is {{else}}, {{^name}} starts a block
  if (mark.startsWith('^')) return name === '' ? 'inverse' : 'open'
  return name === 'else' ? 'inverse' : 'value'
}

/** Expressions that are parsed individually to find the faulty one. */
const mostTried = 500

/** Adds the tag to a problem for which the parser or renderer reports only a line, if the tag is certain. */
export function atTag(
  template: string,
  { message, line }: { readonly message: string; readonly line: number | undefined },
  fails: (text: string) => boolean,
): TemplateProblem {
  const expressions = [...templateTags(template)].filter((tag) => tag.kind === 'expression')
  const alone = expressions.slice(0, mostTried).find((tag) => {
    const { sign, name } = readExpression(template, tag)
    if (sign === 'value') return fails(tag.adapted)
    return sign === 'open' && fails(`${tag.adapted}{{/${name}}}`)
  })
  const range = line === undefined ? undefined : lineRange(template, line)
  const onLine = expressions.filter(({ start }) => range !== undefined && start >= range.start && start < range.end)
  const culprit = alone ?? (onLine.length === 1 ? onLine[0] : undefined)
  if (culprit !== undefined) return { message, start: culprit.start, end: culprit.end }
  return { message, ...range }
}

/** The first tag that contains a name. */
export function tagNaming(template: string, written: string): Pick<TemplateProblem, 'start' | 'end'> {
  const isNamed = ({ kind, adapted }: TemplateTag): boolean =>
    kind === 'expression' && adapted.split(/[\s{}()~#^=|]+/).includes(written)
  const tag = [...templateTags(template)].find(isNamed)
  return tag === undefined ? {} : { start: tag.start, end: tag.end }
}

function lineRange(text: string, line: number): { readonly start: number; readonly end: number } {
  const lines = text.split('\n')
  const before = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
  const whole = lines[line - 1] ?? ''
  return { start: before + whole.length - whole.trimStart().length, end: before + whole.trimEnd().length }
}

const needValue: ReadonlySet<string> = new Set(['if', 'unless', 'each', 'with'])

/**
 * Unknown helpers in a template, and blocks without the value they need. An expression with values after its name is a
 * call everywhere; others are values of the data. The first 50.
 */
export function helperProblems(template: string, helpers: readonly string[]): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = []
  for (const tag of templateTags(template)) {
    if (tag.kind !== 'expression') continue
    const { sign, body, start, end } = readExpression(template, tag)
    const words = sign === 'inverse' ? wordsOf(body).slice(1) : wordsOf(body)
    const problem = sign === 'close' ? undefined : (callProblem(words, helpers) ?? valueProblem(sign, words))
    if (problem !== undefined) problems.push({ ...problem, start, end })
    if (problems.length === mostProblems) break
  }
  return problems
}

/** Maximum length of a mistyped name in messages. */
const mostOfName = 80

function shortened(name: string): string {
  return name.length > mostOfName ? `${name.slice(0, mostOfName)}…` : name
}

function callProblem(words: readonly string[], helpers: readonly string[]): TemplateProblem | undefined {
  const unknown = calledIn(words).find((called) => !helpers.includes(called))
  if (unknown === undefined) return undefined
  const similar = unknown.length > mostOfName ? undefined : nearest(unknown, helpers)
  const shown = helpers.filter((helper) => !helper.startsWith('__')).toSorted()
  const hint = similar === undefined ? `Helpers: ${shown.join(', ')}.` : `Did you mean "${similar}"?`
  return { message: `unknown helper "${shortened(unknown)}"`, hint }
}

function valueProblem(sign: Expression['sign'], [name = '', ...given]: readonly string[]): TemplateProblem | undefined {
  if (sign === 'value' || !needValue.has(name) || given.includes('(')) return undefined
  const values = given.filter((word) => !word.includes('='))
  if (values.length === 1) return undefined
  const message = values.length === 0 ? 'needs a value' : 'takes one value'
  return { message: `{{#${name}}} ${message}`, hint: `Write {{#${name} data.name}}.` }
}

/** Words, strings and brackets; `as |x|` and everything after it are omitted. */
function wordsOf(body: string): readonly string[] {
  const words: readonly string[] = body.match(/"[^"]*"|'[^']*'|[()]|[^\s()"']+/g) ?? []
  const block = words.indexOf('as')
  return block === -1 ? words : words.slice(0, block)
}

/** Names that are called: the first word if others follow, and the word after each opening bracket. */
function calledIn(words: readonly string[]): readonly string[] {
  const isCall = words.length > 1 && words[0] !== '('
  const first = isCall ? words.slice(0, 1) : []
  const inner = words.flatMap((word, index) => (words[index - 1] === '(' ? [word] : []))
  return [...first, ...inner].filter((word) => /^[^"'\d]/.test(word))
}
