import { describe, expect, it } from 'vitest'
import { checkFrontMatter } from '../../src/config/front-matter.ts'
import { fillVariables, misfit, readVariables } from '../../src/config/input-variables.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

/** What is wrong with the front matter, one line each. */
async function issues(toml: string): Promise<readonly string[]> {
  const document = await parsePrompt('p.md', `+++\n${toml}\n+++\nHi\n`)
  const { issues: found } = await checkFrontMatter(document, { userFile: '~/config.toml' })
  return found.map(({ message, hint, place }) => `${place?.line}:${place?.column} ${message} | ${hint}`)
}

describe('the [input] of a prompt file', () => {
  it('declares variables that are optional text by default', () => {
    expect(readVariables({ topic: {}, count: { type: 'integer', required: true, description: ' How many ' } })).toEqual(
      [
        { name: 'topic', type: 'string', required: false },
        { name: 'count', type: 'integer', required: true, description: 'How many' },
      ],
    )
  })

  it('is valid with every type', async () => {
    const toml = `[input]
s = { default = "x", enum = ["x", "y"], description = "text" }
n = { type = "number", default = 1.5 }
i = { type = "integer", enum = [1, 2], required = true }
b = { type = "boolean", default = false }
l = { type = "list", default = ["a"], enum = ["a", "b"] }
t = { type = "table", default = { a = 1 } }`
    expect(await issues(toml)).toEqual([])
  })

  it('prevents warnings about params that only its template reads', async () => {
    const document = await parsePrompt('p.md', '+++\ntone = 1\n[input.x]\n+++\n{{params.tone}}\n')
    expect((await checkFrontMatter(document, { userFile: 'u' })).warnings).toEqual([])
  })

  it.each([
    ['[input.x]\ntype = "text"', '3:8 "input.x.type" must be one of "string", "number", "integer",'],
    ['[input.x]\ndefualt = 1', '3:1 unknown key "defualt" in input.x | Did you mean "default"?'],
    ['[input]\nx = "y"', '3:5 "input.x" must be a table, not "y"'],
    ['[input."due date"]', '2:8 "due date" cannot be the name of an input variable | Use letters, digits,'],
    [
      '[input.x]\ndefault = 3',
      '3:11 "input.x.default" must be text, not the number 3 | The default type is text: set type.',
    ],
    ['[input.x]\ntype = "integer"\ndefault = 1.5', '4:11 "input.x.default" must be a whole number, not the number 1.5'],
    ['[input.x]\nenum = ["a"]\ndefault = "b"', '4:11 "input.x.default" must be one of "a", not "b"'],
    ['[input.x]\nenum = []', '3:8 "input.x.enum" must not be empty'],
    ['[input.x]\nenum = ["a", 2]', '3:8 "input.x.enum" must contain text only, not the number 2'],
    ['[input.x]\nrequired = true\ndefault = "b"', '3:12 "input.x.required" has no effect with a default'],
  ])('is checked: %j', async (toml, start) => {
    const [first = '', ...others] = await issues(toml)
    expect(first.slice(0, start.length)).toBe(start)
    expect(others).toEqual([])
  })

  it('is allowed in prompt files only', async () => {
    const { checkSettings } = await import('../../src/config/check-settings.ts')
    expect(checkSettings({ input: {} }, { scope: 'flag', userFile: 'u' })).toMatchObject([
      { message: '"input" can only be set in a prompt file' },
    ])
  })
})

describe('a value', () => {
  it.each([
    ['string', 'x', undefined],
    ['string', 1, 'text'],
    ['number', 1.5, undefined],
    ['number', '1', 'a number'],
    ['integer', 1, undefined],
    ['integer', 1.5, 'a whole number'],
    ['integer', 2 ** 60, 'a whole number'],
    ['boolean', true, undefined],
    ['boolean', 'true', 'true or false'],
    ['list', [1], undefined],
    ['list', {}, 'a list'],
    ['table', { a: 1 }, undefined],
    ['table', [], 'a table'],
    ['table', null, 'a table'],
  ] as const)('of a %s variable: %j', (type, value, expected) => {
    expect(misfit({ type }, value)).toBe(expected)
  })

  it('must be one of the choices, compared by content, as must each item of a list', () => {
    expect(misfit({ type: 'string', choices: ['a', 'b'] }, 'c')).toBe('one of "a", "b"')
    expect(misfit({ type: 'table', choices: [{ a: 1, b: 2 }] }, { b: 2, a: 1 })).toBeUndefined()
    expect(misfit({ type: 'list', choices: ['a', 'b'] }, ['b', 'b'])).toBeUndefined()
    expect(misfit({ type: 'list', choices: ['a', 'b'] }, ['a', 'c'])).toBe('a list of "a", "b"')
  })
})

describe('filling variables', () => {
  const variables = readVariables({
    a: { required: true },
    b: { default: 'B' },
    c: {},
    l: { type: 'list' },
    t: { type: 'table' },
  })

  it('uses given values, then defaults, and omits the rest', () => {
    expect(fillVariables(variables, { a: '1', b: null })).toEqual({ values: { a: '1', b: 'B' }, problems: [] })
    expect(fillVariables(variables, { a: '', b: '2', c: '3' }).values).toEqual({ a: '', b: '2', c: '3' })
  })

  it('accepts the empty table of Lua for either type', () => {
    expect(fillVariables(variables, { a: '1', l: {}, t: [] }).values).toEqual({ a: '1', b: 'B', l: [], t: {} })
  })

  it('reports all errors', () => {
    expect(fillVariables(variables, { bb: '1', far_away: '2', c: 3 }).problems).toMatchObject([
      { kind: 'unknown', name: 'bb', hint: 'Did you mean "b"?' },
      { kind: 'unknown', name: 'far_away', hint: 'Its variables: a, b, c, l, t.' },
      { kind: 'missing', variable: { name: 'a' } },
      { kind: 'wrong', name: 'c', expected: 'text' },
    ])
  })
})
