import { nearest } from '../base/suggest.ts'
import type { TemplateProblem } from './template-problem.ts'
import { type TemplateTag, templateTags } from './template-text.ts'

/** An expression or a tag of a block, by what it says. */
interface Expression extends TemplateTag {
  readonly kind: 'expression'
  readonly sign: 'value' | 'open' | 'close' | 'inverse' | 'partial'
  /** The words in it, without its sign. */
  readonly body: string
  /** The first word. */
  readonly name: string
}

/**
 * What is wrong with how the tags of a template fit together, in their order: braces and blocks that are not closed, and
 * ends of blocks that were not begun. The parser says such things without a place one could point at.
 */
export function tagProblems(template: string): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = []
  const open: Expression[] = []
  for (const tag of templateTags(template)) {
    if (tag.kind === 'open-ended') problems.push(notClosed(template, tag))
    if (tag.kind !== 'expression') continue
    const expression = readExpression(template, { ...tag, kind: 'expression' })
    if (expression.sign === 'partial') problems.push(partial(expression))
    if (expression.sign === 'open') open.push(expression)
    if (expression.sign !== 'close') continue
    const begun = open.pop()
    if (begun === undefined) problems.push(endWithoutBegin(expression))
    else if (begun.name !== expression.name) problems.push(wrongEnd(expression, begun))
  }
  return [...problems, ...open.map(blockNotClosed)].toSorted((left, right) => (left.start ?? 0) - (right.start ?? 0))
}

function readExpression(template: string, tag: TemplateTag & { readonly kind: 'expression' }): Expression {
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
  // {{^}} is {{else}}, {{^name}} begins a block
  if (mark.startsWith('^')) return name === '' ? 'inverse' : 'open'
  return name === 'else' ? 'inverse' : 'value'
}

function notClosed(template: string, { start }: TemplateTag): TemplateProblem {
  const lineEnd = template.indexOf('\n', start)
  const end = lineEnd === -1 ? template.length : lineEnd
  return { message: 'the {{ is not closed', hint: 'Close it with }}; text with braces is written \\{{.', start, end }
}

function partial({ start, end }: Expression): TemplateProblem {
  return { message: 'there are no partials', hint: 'Write the text here, or put it into data.', start, end }
}

function endWithoutBegin({ name, start, end }: Expression): TemplateProblem {
  return {
    message: `{{/${name}}} closes nothing`,
    hint: `Begin the block with {{#${name} …}}, or remove it.`,
    start,
    end,
  }
}

function wrongEnd({ name, start, end }: Expression, begun: Expression): TemplateProblem {
  const message = `{{/${name}}} closes {{#${begun.name}}}`
  return { message, hint: `Write {{/${begun.name}}} here, or close the inner block first.`, start, end }
}

function blockNotClosed({ name, start, end }: Expression): TemplateProblem {
  return { message: `{{#${name}}} is not closed`, hint: `End the block with {{/${name}}}.`, start, end }
}

/** The problem of a parser or renderer that says no more than the line, with the tag it is about, if that is certain. */
export function atTag(
  template: string,
  { message, line }: { readonly message: string; readonly line: number | undefined },
  fails: (text: string) => boolean,
): TemplateProblem {
  const expressions = [...templateTags(template)].filter((tag) => tag.kind === 'expression')
  const alone = expressions.filter((tag) => {
    const { sign, name } = readExpression(template, { ...tag, kind: 'expression' })
    if (sign === 'value') return fails(tag.adapted)
    return sign === 'open' && fails(`${tag.adapted}{{/${name}}}`)
  })
  const onLine = expressions.filter(({ start }) => lineOf(template, start) === line)
  const culprit = alone[0] ?? (onLine.length === 1 ? onLine[0] : undefined)
  if (culprit !== undefined) return { message, start: culprit.start, end: culprit.end }
  return line === undefined ? { message } : { message, ...lineRange(template, line) }
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function lineRange(text: string, line: number): { readonly start: number; readonly end: number } {
  const lines = text.split('\n')
  const before = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
  const whole = lines[line - 1] ?? ''
  return { start: before + whole.length - whole.trimStart().length, end: before + whole.trimEnd().length }
}

/** Helpers whose block is about one value. */
const needValue: ReadonlySet<string> = new Set(['if', 'unless', 'each', 'with'])

/**
 * Names in a template that are used as helpers and are none, and blocks without the value they are about. An expression
 * with values behind its name is a call, everywhere; the rest are values of the data.
 */
export function helperProblems(template: string, helpers: readonly string[]): readonly TemplateProblem[] {
  return [...templateTags(template)].flatMap((tag): readonly TemplateProblem[] => {
    if (tag.kind !== 'expression') return []
    const { sign, body, start, end } = readExpression(template, { ...tag, kind: 'expression' })
    const words = sign === 'inverse' ? wordsOf(body).slice(1) : wordsOf(body)
    const problem = sign === 'close' ? undefined : (callProblem(words, helpers) ?? valueProblem(sign, words))
    return problem === undefined ? [] : [{ ...problem, start, end }]
  })
}

function callProblem(words: readonly string[], helpers: readonly string[]): TemplateProblem | undefined {
  const unknown = calledIn(words).find((called) => !helpers.includes(called))
  return unknown === undefined ? undefined : unknownHelper(unknown, helpers)
}

function valueProblem(sign: Expression['sign'], [name = '', ...given]: readonly string[]): TemplateProblem | undefined {
  if (sign === 'value' || !needValue.has(name) || given.includes('(')) return undefined
  const values = given.filter((word) => !word.includes('='))
  if (values.length === 1) return undefined
  const message = values.length === 0 ? 'has no value to look at' : 'takes one value'
  return { message: `{{#${name}}} ${message}`, hint: `Write {{#${name} data.name}}.` }
}

function unknownHelper(name: string, helpers: readonly string[]): TemplateProblem {
  const similar = nearest(name, helpers)
  const shown = helpers.filter((helper) => !helper.startsWith('__')).toSorted()
  const hint = similar === undefined ? `Helpers: ${shown.join(', ')}.` : `Did you mean "${similar}"?`
  return { message: `there is no helper "${name}"`, hint }
}

/** Words, strings and brackets; `as |x|` ends what is looked at. */
function wordsOf(body: string): readonly string[] {
  const words: readonly string[] = body.match(/"[^"]*"|'[^']*'|[()]|[^\s()"']+/g) ?? []
  const block = words.indexOf('as')
  return block === -1 ? words : words.slice(0, block)
}

/** What is called: the first word when others follow, and the word behind each opening bracket. */
function calledIn(words: readonly string[]): readonly string[] {
  const isCall = words.length > 1 && words[0] !== '('
  const first = isCall ? words.slice(0, 1) : []
  const inner = words.flatMap((word, index) => (words[index - 1] === '(' ? [word] : []))
  return [...first, ...inner].filter((word) => /^[^"'\d]/.test(word))
}
