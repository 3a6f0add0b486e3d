import { describe, expect, it } from 'vitest'
import { checkFrontMatter } from '../../src/config/front-matter.ts'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

async function issues(toml: string): Promise<readonly string[]> {
  const document = await parsePrompt('ask.md', `+++\n${toml}\n+++\nAsk.\n`)
  const checked = await checkFrontMatter(document, { userFile: 'config.toml' })
  return checked.issues.map(({ message, place, hint }) => `${place?.line}: ${message} | ${hint}`)
}

describe('[[test]]', () => {
  it('accepts everything a test can contain', async () => {
    expect(
      await issues(`[[test]]
name = "all"
vars = { city = "Bern", days = 3 }
params = { tone = "kind" }
files = ["src/**", "!src/x"]
cassette = "cassettes/all.cassette"
expect = [{ answer_contains = ["a", "b"], answer_matches = '^\\p{L}', exit = 0 }, { calls = 1, max_cost_usd = 0.5 }]
[[test]]
name = "files by content"
[test.files]
"src/a.txt" = "text"
[[test.expect]]
file_equals = { "a.txt" = "" }
file_contains = { "b.txt" = ["x", "y"] }`),
    ).toEqual([])
  })

  it.each([
    ['[test]\nname = "one"', '2: "test" must be a list of tables, not a table | Write a list of tables.'],
    ['[[test]]\nvars = {}', '2: "test[0].name" is missing | Add it: text.'],
    ['[[test]]\nname = "a"\ncasette = "x"', '4: unknown key "casette" in test[0] | Did you mean "cassette"?'],
    [
      '[[test]]\nname = "a"\nexpect = [{ answer_contain = "x" }]',
      '4: unknown key "answer_contain" in test[0].expect[0] | Did you mean "answer_contains"?',
    ],
    [
      '[[test]]\nname = "a"\nexpect = [{}]',
      '4: "test[0].expect[0]" must be a table with at least one key, not a table | Write a table with at least one key.',
    ],
    [
      '[[test]]\nname = "a"\nexpect = [{ answer_matches = "(" }]',
      '4: "test[0].expect[0].answer_matches" must be a regular expression, not "(" | Write a regular expression.',
    ],
    [
      '[[test]]\nname = "a"\nfiles = 3',
      '4: "test[0].files" must be a list of globs, or a table of names and contents, not the number 3 | Write a list of globs, or a table of names and contents.',
    ],
    [
      '[[test]]\nname = "a"\n[[test]]\nname = "a"',
      '5: "test[1].name" must be a name that is unique among the tests of the file, not "a" | Write a name that is unique among the tests of the file.',
    ],
  ])('refuses %j', async (toml, issue) => {
    expect(await issues(toml)).toEqual([issue])
  })

  it('is in the schema of the front matter, but not in that of config files', () => {
    expect(configJsonSchema('prompt')).toMatchObject({
      properties: {
        test: {
          type: 'array',
          items: { required: ['name'], properties: { expect: { items: { properties: { lua: { type: 'string' } } } } } },
        },
      },
    })
    expect(configJsonSchema('config')).not.toHaveProperty('properties.test')
  })
})
