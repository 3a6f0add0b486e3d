import { afterAll, expect, it } from 'vitest'
import { createJavaScriptBox } from '../../../src/script/javascript/box.ts'
import { tryProgram } from '../../helpers/try-program.ts'

const box = createJavaScriptBox()
afterAll(async () => box.close())

it.each([
  ['\n\nconst a = foo()', 3, 11],
  ['// foo is what\n/* foo */\nconst b = { foo: "foo" }\nconst a = foo', 4, 11],
  ['function f() {\n\n  return foo\n}\n\nf()', 3, 10],
  ['let x = [1,\n2,\nfoo]', 3, 1],
  ['\n\nif (foo) {}', 3, 5],
  ['\nfor (const x of foo) {}', 2, 17],
  ['let q\n\nconst r = q.a', 3, 13],
  ['let q\n\nif (q["a"]) {}', 3, 6],
  ['\nconst { c } = null', 2, undefined],
  ['let q\n\nfor (const x of q) {}', 3, 14],
  ['let q\nq.a = [1]\n', 2, 3],
  ['[{}].map((x) => {\n  return x.y.z\n})', 2, 14],
  ['if (true) return foo()', 1, 18],
  ["const a = `it's` + foo", 1, 20],
  ['await null\nconst a: number = 1\nconst b: string = foo()', 3, undefined],
])('the error of %j is in line %i', async (code, line, column) => {
  const end = await tryProgram(box, code)
  expect(end).toMatchObject({ kind: 'error', line, ...(column === undefined ? {} : { column }) })
})

const long = 95_000

it.each([
  ['blanks', `const r = null['z' + 'z']\n${' '.repeat(long)}1`],
  ['comments in a template', `const a = \`${'/*'.repeat(long / 2)}\`; foo()`],
  ['escaped quotes in a template', `const a = \`${'\\"'.repeat(long / 2)}\`; foo()`],
  ['quotes in a template', `const a = \`${`"'`.repeat(long / 2)}\`; foo()`],
])('an error next to many %s is reported, rather than the search for its place', async (_, code) => {
  const end = await tryProgram(box, code, { limits: { timeMs: 3000 } })
  expect(end).toMatchObject({ kind: 'error', line: 1 })
  expect(end).not.toHaveProperty('limit')
})
