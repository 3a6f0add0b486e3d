import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { readVariables, variablesFromFlags } from '../../src/config/input-variables.ts'
import { issuesOf } from '../../src/settings/issue.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

const front = `+++
[input.s]
[input.n]
type = "number"
[input.i]
type = "integer"
[input.b]
type = "boolean"
[input.l]
type = "list"
[input.t]
type = "table"
+++
Hi
`

async function read(flags: readonly string[], text = front): Promise<JsonObject | undefined> {
  const document = await parsePrompt('p.md', text)
  const { input } = document.meta.data
  return variablesFromFlags(flags, input === undefined ? undefined : readVariables(input as JsonObject), document)
}

async function problems(flags: readonly string[], text = front): Promise<readonly string[]> {
  const error: unknown = await read(flags, text).catch((reason: unknown) => reason)
  if (!isBatonError(error)) return [`no error but ${JSON.stringify(error)}`]
  return issuesOf(error).map(
    ({ code, message, hint, place }) => `${code} ${message} | ${hint}${place === undefined ? '' : ` @${place.line}`}`,
  )
}

describe('--var', () => {
  it.each([
    ['s=a = b ', { s: 'a = b ' }],
    ['s=', { s: '' }],
    ['s=[1]', { s: '[1]' }],
    [' s =x', { s: 'x' }],
    ['n=-1.5e3', { n: -1500 }],
    ['n= 2 ', { n: 2 }],
    ['i=+3', { i: 3 }],
    ['b=true', { b: true }],
    ['b=false', { b: false }],
    ['l=one, two,', { l: ['one', 'two'] }],
    ['l=', { l: [] }],
    ['l=["a,b", 2]', { l: ['a,b', 2] }],
    ['t={"a": {"b": 1}}', { t: { a: { b: 1 } } }],
  ])('parses %j by the type of the variable', async (flag, values) => {
    expect(await read([flag])).toEqual(values)
  })

  it.each([
    ['n=', 'USAGE --var n must be a number'],
    ['n=0x10', 'USAGE --var n must be a number'],
    ['n=1e999', 'USAGE --var n must be a number'],
    ['i=1.5', 'USAGE --var i must be a whole number'],
    ['b=yes', 'USAGE --var b must be true or false'],
    ['l=[1', "USAGE --var l must be a list | Write --var 'l=one,two', or JSON."],
    ['t=a', 'USAGE --var t must be a table | Write it as JSON:'],
    [`t=${'['.repeat(5000)}${']'.repeat(5000)}`, 'USAGE --var t must be a table'],
    ['t=[1]', 'USAGE --var t must be a table'],
    ['tt=1', 'USAGE p.md has no variable "tt" for --var | Did you mean "t"?'],
    ['s', 'USAGE --var s is not name=value | Write --var name=value.'],
    ['=x', 'USAGE --var is not name=value'],
  ])('refuses %j', async (flag, start) => {
    const [first = '', ...others] = await problems([flag])
    expect(first.slice(0, start.length)).toBe(start)
    expect(others).toEqual([])
  })

  it('does not repeat values, which may be secrets', async () => {
    expect((await problems(['n=sk-secret', 'x=sk-secret', 't=sk-secret'])).join('\n')).not.toContain('sk-secret')
    expect((await problems(['s=a', 's=sk-secret'])).join('\n')).toBe(
      'USAGE --var s is given more than once | Give it once.',
    )
  })

  it('is refused for a file without [input]', async () => {
    expect(await problems(['a=1'], 'Hi\n')).toEqual([
      'USAGE --var a is given, but p.md has no [input] | Omit it, or add [input.a] to the front matter.',
    ])
    expect(await read([], 'Hi\n')).toBeUndefined()
  })
})

describe('a missing variable', () => {
  it('is named with its description, its values and the flag, at its declaration', async () => {
    const text = '+++\n[input.lang]\nrequired = true\ndescription = "the language"\nenum = ["de", "fr"]\n+++\nHi\n'
    expect(await problems([], text)).toEqual([
      'USAGE missing variable "lang": the language; one of "de", "fr" | Add --var lang=… @2',
    ])
  })

  it('is reported together with all missing flags', async () => {
    const text = '+++\n[input]\na = { required = true }\nb = { required = true }\nc = {}\n+++\nHi\n'
    expect(await problems([], text)).toEqual([
      'USAGE missing variable "a" | Add --var a=… --var b=… @3',
      'USAGE missing variable "b" | Add --var a=… --var b=… @4',
    ])
  })

  it('is not reported if it has a default', async () => {
    expect(await read([], '+++\n[input]\na = { default = "x" }\n+++\nHi\n')).toEqual({ a: 'x' })
  })
})
