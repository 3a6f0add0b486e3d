import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { loadTemplates, type RenderTemplate } from '../../src/prompt/template.ts'

let render: RenderTemplate
let check: (template: string) => void
beforeAll(async () => {
  const templates = await loadTemplates()
  render = templates.render
  check = templates.check
})

function gives(template: string, data: JsonObject, expected: string): () => void {
  return () => expect(render(template, data)).toBe(expected)
}

describe('as handlebars-rust (spec/parts.md 8)', () => {
  it('escapes nothing', gives('{{x}} {{{x}}}', { x: '<a href="b">&</a>' }, '<a href="b">&</a> <a href="b">&</a>'))
  it('prints nothing for what is missing', gives('[{{x}}{{a.b.c}}]', { a: null }, '[]'))
  it(
    'prints lists and objects',
    gives('{{l}} {{o}} {{n}}', { l: [1, 'a', [2]], o: { a: 1 }, n: null }, '[1, a, [2]] [object] '),
  )
  it('prints numbers and booleans', gives('{{a}} {{b}} {{c}}', { a: 0, b: false, c: 1.5 }, '0 false 1.5'))
  it(
    'takes an empty object and an empty list for false',
    gives(
      '{{#if o}}o{{else}}-{{/if}}{{#if l}}l{{else}}-{{/if}}{{#if f}}f{{/if}}',
      { o: {}, l: [], f: { a: 1 } },
      '--f',
    ),
  )
  it(
    'turns it round in unless',
    gives('{{#unless o}}none{{/unless}}{{#unless x}}none{{else}}some{{/unless}}', { o: {}, x: 1 }, 'nonesome'),
  )
  it(
    'takes 0 for false unless includeZero',
    gives('{{#if z}}a{{/if}}{{#if z includeZero=true}}b{{/if}}', { z: 0 }, 'b'),
  )
  it(
    'reads list positions in paths',
    gives('{{l.0}} {{l.1.name}} {{#with l.1}}{{name}}{{/with}}', { l: ['a', { name: 'b' }] }, 'a b b'),
  )
  it('reads an expression before a closing brace', gives('{ "a": {{x}}}', { x: 1 }, '{ "a": 1}'))
  it('reads a triple expression before a closing brace', gives('{{{x}}}}', { x: 1 }, '1}'))
  it(
    'compares',
    gives(
      '{{#if (eq a "x")}}eq{{/if}} {{#if (and a (not b))}}and{{/if}} {{len l}} {{#if (gt n 1)}}gt{{/if}}',
      { a: 'x', b: false, l: [1, 2], n: 2 },
      'eq and 2 gt',
    ),
  )
  it('keeps raw blocks', gives('{{{{raw}}}}{{x}} {{y.0}}{{{{/raw}}}}', { x: 1 }, '{{x}} {{y.0}}'))
  it('leaves comments and escaped braces', gives('a{{!-- {{x}}} --}}b{{! c }} \\{{x}}', { x: 1 }, 'ab {{x}}'))
  it(
    'loops',
    gives(
      '{{#each files}}{{@index}}:{{this.path}}{{#unless @last}},{{/unless}}{{/each}}',
      { files: [{ path: 'a' }, { path: 'b' }] },
      '0:a,1:b',
    ),
  )
  it('removes the lines of standalone blocks', gives('a\n{{#if x}}\nb\n{{/if}}\nc\n', { x: true }, 'a\nb\nc\n'))
  it('does not read strings as paths', gives('{{lookup o "a.0"}}', { o: { 'a.0': 'v' } }, 'v'))
  it('never puts a value through the template again', gives('{{x}}', { x: '{{y}}', y: 'no' }, '{{y}}'))
  it('reaches nothing but data', gives('{{constructor.name}}{{__proto__.x}}{{o.toString}}', { o: {} }, ''))
})

describe('a template that is wrong', () => {
  it.each(['{{#if x}}', '{{x', '{{/if}}', '{{nope a b}}'])('is an error: %s', (template) => {
    expect(() => render(template, {})).toThrow(expect.objectContaining({ code: 'PROMPT_SYNTAX' }))
  })
})

it('says in one line what is wrong, and where in the file', () => {
  const place = { file: 'a.aip', line: 10, text: '\n'.repeat(11) + 'x' }
  expect(() => render('a\n{{#if x}}\nb', {}, place)).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^the template cannot be rendered: Expecting .* got 'EOF'$/) as string,
      place: expect.objectContaining({ line: 12 }) as object,
    }),
  )
  expect(() => render('a\n{{nope a b}}', {}, place)).toThrow(/Missing helper: "nope"$/)
})

it('finds mistakes of a template without data', () => {
  expect(() => check('{{#if x}}')).toThrow('cannot be rendered')
  expect(() => check('{{x}}}{{l.0}}')).not.toThrow()
})

it('renders a megabyte of text with many values', () => {
  const data = { files: Array.from({ length: 1000 }, (_, n) => ({ path: `f${n}`, content: 'x'.repeat(1000) })) }
  expect(render('{{#each files}}<{{path}}>{{content}}{{/each}}', data)).toHaveLength(
    data.files.reduce((sum, { path }) => sum + path.length + 1002, 0),
  )
})
