import Handlebars from 'handlebars'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { isSlowTemplate } from '../../src/prompt/slow-template.ts'
import { loadTemplates, type RenderTemplate, type Templates } from '../../src/prompt/template.ts'

let render: RenderTemplate
let check: (template: string) => void
let problems: Templates['problems']
beforeAll(async () => {
  const templates = await loadTemplates()
  render = templates.render
  check = templates.check
  problems = templates.problems
})

function gives(template: string, data: JsonObject, expected: string): () => void {
  return () => expect(render(template, data)).toBe(expected)
}

describe('a template, as in handlebars-rust,', () => {
  it('escapes nothing', gives('{{x}} {{{x}}}', { x: '<a href="b">&</a>' }, '<a href="b">&</a> <a href="b">&</a>'))
  it('prints nothing for a missing value', gives('[{{x}}{{a.b.c}}]', { a: null }, '[]'))
  it(
    'prints lists and objects',
    gives('{{l}} {{o}} {{n}}', { l: [1, 'a', [2]], o: { a: 1 }, n: null }, '[1, a, [2]] [object] '),
  )
  it('prints numbers and booleans', gives('{{a}} {{b}} {{c}}', { a: 0, b: false, c: 1.5 }, '0 false 1.5'))
  it(
    'treats an empty object and an empty list as false',
    gives(
      '{{#if o}}o{{else}}-{{/if}}{{#if l}}l{{else}}-{{/if}}{{#if f}}f{{/if}}',
      { o: {}, l: [], f: { a: 1 } },
      '--f',
    ),
  )
  it(
    'negates conditions in unless',
    gives('{{#unless o}}none{{/unless}}{{#unless x}}none{{else}}some{{/unless}}', { o: {}, x: 1 }, 'nonesome'),
  )
  it(
    'treats 0 as false unless includeZero is set',
    gives('{{#if z}}a{{/if}}{{#if z includeZero=true}}b{{/if}}', { z: 0 }, 'b'),
  )
  it(
    'reads list positions in paths',
    gives('{{l.0}} {{l.1.name}} {{#with l.1}}{{name}}{{/with}}', { l: ['a', { name: 'b' }] }, 'a b b'),
  )
  it('parses an expression before a closing brace', gives('{ "a": {{x}}}', { x: 1 }, '{ "a": 1}'))
  it('parses a triple expression before a closing brace', gives('{{{x}}}}', { x: 1 }, '1}'))
  it(
    'compares',
    gives(
      '{{#if (eq a "x")}}eq{{/if}} {{#if (and a (not b))}}and{{/if}} {{len l}} {{#if (gt n 1)}}gt{{/if}}',
      { a: 'x', b: false, l: [1, 2], n: 2 },
      'eq and 2 gt',
    ),
  )
  it('keeps raw blocks', gives('{{{{raw}}}}{{x}} {{y.0}}{{{{/raw}}}}', { x: 1 }, '{{x}} {{y.0}}'))
  it('handles comments and escaped braces', gives('a{{!-- {{x}}} --}}b{{! c }} \\{{x}}', { x: 1 }, 'ab {{x}}'))
  it(
    'loops',
    gives(
      '{{#each files}}{{@index}}:{{this.path}}{{#unless @last}},{{/unless}}{{/each}}',
      { files: [{ path: 'a' }, { path: 'b' }] },
      '0:a,1:b',
    ),
  )
  it('removes the lines of standalone blocks', gives('a\n{{#if x}}\nb\n{{/if}}\nc\n', { x: true }, 'a\nb\nc\n'))
  it('does not parse strings as paths', gives('{{lookup o "a.0"}}', { o: { 'a.0': 'v' } }, 'v'))
  it('never renders a value as a template again', gives('{{x}}', { x: '{{y}}', y: 'no' }, '{{y}}'))
  it('can access nothing but data', gives('{{constructor.name}}{{__proto__.x}}{{o.toString}}', { o: {} }, ''))
})

describe('an invalid template', () => {
  it.each(['{{#if x}}', '{{x', '{{/if}}', '{{nope a b}}'])('is an error: %s', (template) => {
    expect(() => render(template, {})).toThrow(expect.objectContaining({ code: 'PROMPT_SYNTAX' }))
  })
})

/** `line:column-endLine:endColumn message | hint` for every error in a template that starts on line 10. */
function wrongWith(template: string, column?: number): readonly string[] {
  const place = { file: 'a.aip', line: 10, text: template, ...(column === undefined ? {} : { column }) }
  return problems(template, place).map(({ message, hint, place: at }) => {
    const said = message.replace('the template cannot be rendered: ', '')
    return `${at?.line}:${at?.column}-${at?.endLine}:${at?.endColumn} ${said} | ${hint}`
  })
}

describe('an error in a template', () => {
  const look = 'Check the expressions between {{ and }}.'

  it.each([
    ['{{#if a}}\n{{x}}\n', ['10:1-10:10 {{#if}} is not closed | End the block with {{/if}}.']],
    ['a {{x\nb', ['10:3-10:6 the {{ is not closed | Close it with }}; text with braces is written \\{{.']],
    ['x\n  {{/if}}', ['11:3-11:10 {{/if}} closes nothing | Start the block with {{#if …}}, or remove it.']],
    [
      '{{#if a}}\n {{/each}}',
      ['11:2-11:11 {{/each}} closes {{#if}} | Write {{/if}} here, or close the inner block first.'],
    ],
    ['{{> part}}', ['10:1-10:11 partials are not supported | Write the text here, or pass it as data.']],
    ['{{a}} {{a b=}} {{c}}', [`10:7-10:15 the expression ends too early | ${look}`]],
    ['{{else}}', [`10:1-10:9 {{else}} or {{^}} is outside of a block | ${look}`]],
    ['{{a}}\n{{#if (eqq a 1)}}{{/if}}', ['11:1-11:18 unknown helper "eqq" | Did you mean "eq"?']],
    ['{{#if a}}{{else if (eqq b)}}{{/if}}', ['10:10-10:29 unknown helper "eqq" | Did you mean "eq"?']],
    ['{{#each}}x{{/each}}', ['10:1-10:10 {{#each}} needs a value | Write {{#each data.name}}.']],
    ['{{#if a b}}x{{/if}}', ['10:1-10:12 {{#if}} takes one value | Write {{#if data.name}}.']],
  ])('%j', (template, expected) => {
    expect(wrongWith(template)).toEqual(expected)
  })

  it('is reported with all others, in the order of the text', () => {
    expect(wrongWith('{{#if a}}\n{{/each}}\n{{#with b}}\n{{c').map((line) => line.split(' ')[0])).toEqual([
      '11:1-11:10',
      '12:1-12:12',
      '13:1-13:4',
    ])
    expect(wrongWith('{{one a}}\n{{two b}}').map((line) => line.split(' | ')[0])).toEqual([
      '10:1-10:10 unknown helper "one"',
      '11:1-11:10 unknown helper "two"',
    ])
  })

  it('has columns from the start of the template', () => {
    expect(wrongWith('{{x', 9)).toEqual([expect.stringMatching(/^10:9-10:12 /)])
  })

  it.each([
    '{{#each l as |i n|}}{{i}}{{/each}}',
    '{{lookup o "a b.0"}} {{len l}}',
    '{{#section}}x{{/section}}{{^other}}y{{/other}}',
    '{{#if (and a (not b))}}x{{else if (eq a 1)}}y{{else}}z{{/if}}',
    '{{#if z includeZero=true}}b{{/if}}',
    '{{{{raw}}}}{{nope a}}{{#if}}{{{{/raw}}}} \\{{nope a}} {{! {{#if x}} }}',
    '{{{x}}}} {{~x~}} {{#unless x~}} a {{~/unless}}',
  ])('does not occur in %j', (template) => {
    expect(wrongWith(template)).toEqual([])
  })
})

it('an error while rendering is one line with the place in the file', () => {
  const place = { file: 'a.aip', line: 10, text: '\n'.repeat(11) + 'x' }
  expect(() => render('a\n{{#if x}}\nb', {}, place)).toThrow(
    expect.objectContaining({
      message: 'the template cannot be rendered: {{#if}} is not closed',
      place: expect.objectContaining({ line: 11, column: 1, endColumn: 10 }) as object,
    }),
  )
  expect(() => render('a\n{{nope a b}}', {}, place)).toThrow(/unknown helper "nope"$/)
})

it('unknown helpers in branches that are never reached are accepted, because published agents contain them', () => {
  expect(render('{{#if no}}{{nope a}}{{/if}}x', {})).toBe('x')
})

it('errors of a template are found without data', () => {
  expect(() => check('{{#if x}}')).toThrow('cannot be rendered')
  expect(() => check('{{x}}}{{l.0}}')).not.toThrow()
})

it('renders a megabyte of text with many values', () => {
  const data = { files: Array.from({ length: 1000 }, (_, n) => ({ path: `f${n}`, content: 'x'.repeat(1000) })) }
  expect(render('{{#each files}}<{{path}}>{{content}}{{/each}}', data)).toHaveLength(
    data.files.reduce((sum, { path }) => sum + path.length + 1002, 0),
  )
})

describe('next to a program that uses the same Handlebars', () => {
  const html = { x: '<b>' }
  const host = (): string => Handlebars.compile('{{x}}')(html)

  afterEach(() => {
    Handlebars.unregisterHelper('shout')
    Handlebars.unregisterPartial('part')
  })

  it('escaping of the program does not change: loaded, rendered, and in turns', async () => {
    const early = Handlebars.compile('{{x}}')
    expect(host()).toBe('&lt;b&gt;')
    const own = await loadTemplates()
    expect([host(), own.render('{{x}}', html), host()]).toEqual(['&lt;b&gt;', '<b>', '&lt;b&gt;'])
    expect([render('{{x}}', html), early(html), own.render('{{l}}', { l: [1, {}] })]).toEqual([
      '<b>',
      '&lt;b&gt;',
      '[1, [object]]',
    ])
    expect(Handlebars.escapeExpression('<b>')).toBe('&lt;b&gt;')
    expect(Handlebars.Utils.escapeExpression('<b>')).toBe('&lt;b&gt;')
  })

  it('nothing is escaped when a template of the program is rendered inside', () => {
    const data = { ...html, inner: host } as unknown as JsonObject
    expect(render('{{x}} {{inner}} {{#if x}}{{x}}{{/if}}', data)).toBe('<b> &lt;b&gt; <b>')
  })

  it('output does not change when the program sets its own output functions', () => {
    const { escapeExpression } = Handlebars.Utils
    Handlebars.Utils.escapeExpression = () => 'host'
    try {
      expect([host(), render('{{x}}{{#if x}}{{x}}{{/if}}', html)]).toEqual(['host', '<b><b>'])
    } finally {
      Handlebars.Utils.escapeExpression = escapeExpression
    }
  })

  it('helpers and partials are not shared', () => {
    Handlebars.registerHelper('shout', (text: string) => text.toUpperCase())
    Handlebars.registerPartial('part', 'a partial')
    expect(Handlebars.compile('{{shout "a"}} {{> part}}')({})).toBe('A a partial')
    expect(() => render('{{shout "a"}}', {})).toThrow('unknown helper "shout"')
    expect(() => render('{{> part}}', {})).toThrow('partials are not supported')
    expect(() => Handlebars.compile('{{len x}}')(html)).toThrow('Missing helper: "len"')
    expect(Handlebars.compile('{{#if x}}some{{else}}none{{/if}}')({ x: {} })).toBe('some')
  })
})

describe('a template that would take long', () => {
  it('is refused before parsing: too many expressions, too deep blocks', async () => {
    const { render, problems } = await loadTemplates()
    const many = '{{a}}'.repeat(5001)
    const deep = '{{#a}}'.repeat(101)
    expect(() => render(many, {})).toThrow('it has more than 5000 expressions')
    expect(() => render(deep, {})).toThrow('its blocks are nested deeper than 100 levels')
    expect(problems(many).map(({ message }) => message)).toHaveLength(1)
    expect(render(`${'{{#if a}}'.repeat(100)}x${'{{/if}}'.repeat(100)}`, { a: 1 })).toBe('x')
  })

  it('has only its first 50 errors reported', async () => {
    const { problems } = await loadTemplates()
    expect(problems('{{foo a}}\n'.repeat(200))).toHaveLength(50)
    expect(problems('{{/a}}\n'.repeat(200))).toHaveLength(50)
    expect(problems('{{~}}\n'.repeat(200))).toHaveLength(1)
  })

  it('is detected by nested loops, and by their data', () => {
    const loop = '{{#each a}}{{this}}{{/each}}'
    const list = Array.from({ length: 200 }, () => 'text')
    expect(isSlowTemplate(loop, { a: list })).toBe(false)
    expect(isSlowTemplate(`{{#each @root.a}}${loop}{{/each}}`, { a: list })).toBe(true)
    expect(isSlowTemplate(`{{#if a}}{{#if b}}${loop}{{/if}}{{/if}}`, { a: list })).toBe(false)
    expect(isSlowTemplate('x'.repeat(100_000), { text: 'x'.repeat(1_000_000) })).toBe(false)
    expect(isSlowTemplate('{{a}}'.repeat(501), {})).toBe(true)
  })
})
