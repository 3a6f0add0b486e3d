import { z } from 'zod'
import { integer, listOf, name, number, table, tableOf, text } from './expect.ts'

const anything = z.unknown()
const pieces = z.union([name, listOf(name)], { error: 'text or a list of texts' })
const pattern = name.refine(isPattern, 'a regular expression')

const expectation = table({
  answer_contains: pieces,
  answer_matches: pattern,
  file_contains: tableOf(pieces),
  file_equals: tableOf(text),
  exit: integer(0, 255),
  max_cost_usd: number(0, 1e9),
  calls: integer(0),
}).refine((value) => Object.keys(value).length > 0, {
  error: 'a table that says something',
  // one with a mistyped key says something
  when: ({ issues }) => issues.length === 0,
})

const oneTest = z.strictObject(
  {
    name,
    vars: tableOf(anything).exactOptional(),
    params: tableOf(anything).exactOptional(),
    files: z
      .union([listOf(name), tableOf(text)], { error: 'a list of globs, or a table of names and contents' })
      .exactOptional(),
    cassette: name.exactOptional(),
    expect: listOf(expectation, 'a list of tables').exactOptional(),
  },
  { error: 'a table' },
)

/** `[[test]]` (DESIGN 13). */
export const testSchema = listOf(oneTest, 'a list of tables').superRefine((tests, context) => {
  for (const [index, { name: own }] of tests.entries()) {
    if (tests.findIndex((other) => other.name === own) === index) continue
    context.addIssue({ code: 'custom', path: [index, 'name'], message: 'a name that no other test of the file has' })
  }
})

/** One entry of `[[test]]`, once it was checked. */
export type TestEntry = z.infer<typeof testSchema>[number]
/** What one entry of `expect` says. */
export type Expectation = z.infer<typeof expectation>

function isPattern(value: string): boolean {
  try {
    return new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}
