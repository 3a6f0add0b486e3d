/**
 * Rewrites a template of handlebars-rust without escaping so that Handlebars 4 reads it the same way
 * (spec/parts.md 8, spec/pro-coder.md 1.3 trap 6): `{{{x}}}` is `{{x}}`, `{{x}}}` is an expression and a literal `}`,
 * and `a.0` is `a.[0]`. Comments, raw blocks and escaped braces stay as they are.
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

/** What stands between braces in a template; comments, raw blocks and escaped braces are `verbatim`. */
export interface TemplateTag {
  readonly kind: 'expression' | 'verbatim' | 'open-ended'
  readonly start: number
  /** Where the text after the tag begins. */
  readonly end: number
  /** As Handlebars 4 reads it. */
  readonly adapted: string
}

/** The tags of a template in their order. */
export function* templateTags(template: string): Generator<TemplateTag> {
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

/** Name of the helper that prints the `}` which Handlebars cannot read behind an expression. */
export const closingBrace = '__closing_brace'

/** The end of what must not be touched: an escaped mustache, a raw block, a comment. */
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

/** The `}}` that closes an expression, which may hold strings. */
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
