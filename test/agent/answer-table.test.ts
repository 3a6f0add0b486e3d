import { expect, it } from 'vitest'
import { readAnswerTable } from '../../src/agent/answer-table.ts'

const fence = '```'

it.each([
  ['JSON', '{"tone": "calm", "globs": ["a"]}', { tone: 'calm', globs: ['a'] }],
  ['JSON with space around it', '\n  { "a": 1 }\n\n', { a: 1 }],
  ['TOML', 'tone = "calm"\n[deep]\nn = 1', { tone: 'calm', deep: { n: 1 } }],
  ['TOML that begins with a table', '[deep]\nn = 1', { deep: { n: 1 } }],
  ['a fenced block in prose', `Here you are:\n\n${fence}json\n{"a": 1}\n${fence}\n\nDone.`, { a: 1 }],
  ['a fenced block of TOML', `${fence}toml\na = 1\n${fence}`, { a: 1 }],
  ['a fenced block that says nothing', `Well:\n${fence}\n{"a": 1}\n${fence}`, { a: 1 }],
  ['the block that says so, of several', `${fence}\nnot this\n${fence}\n${fence}toml\na = 1\n${fence}`, { a: 1 }],
  [
    'the outer one of nested fences',
    `~~~~toml\na = """\n${fence}json\n{}\n${fence}"""\n~~~~`,
    { a: `${fence}json\n{}\n${fence}` },
  ],
  [
    'TOML that holds a fence',
    `a = """\n${fence}json\n{"b": 1}\n${fence}"""`,
    { a: `${fence}json\n{"b": 1}\n${fence}` },
  ],
])('parses %s', async (_, text, table) => {
  expect(await readAnswerTable(text)).toEqual({ kind: 'table', table })
})

it.each([
  ['nothing', ' \n', /^is empty$/],
  ['prose', 'I cannot do this.', /^is not valid TOML/],
  ['a list', `${fence}json\n[1]\n${fence}`, /^is not a table$/],
  ['cut JSON', '{"a": ', /^is not valid JSON/],
  ['prose around a block of another language', `No:\n${fence}lua\na = 1\n${fence}`, /^is not valid TOML/],
])('reports %s', async (_, text, problem) => {
  expect(await readAnswerTable(text)).toEqual({ kind: 'wrong', problem: expect.stringMatching(problem) })
})
