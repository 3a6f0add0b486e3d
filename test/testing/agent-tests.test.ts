import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeCassetteFile } from '../../src/cli/cassette-file.ts'
import { junitXml } from '../../src/testing/junit.ts'
import { loadTests } from '../../src/testing/load-tests.ts'
import { runTest, type RunTestOptions } from '../../src/testing/run-test.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

/** The failures of each test of a file, as text. */
async function failuresOf(
  folder: string,
  name: string,
  options: Partial<RunTestOptions> = {},
): Promise<Readonly<Record<string, readonly string[]>>> {
  const all: RunTestOptions = { env: {}, home: tempTree(), overrides: [], keeps: false, within: tempTree(), ...options }
  const file = await loadTests(name, { cwd: folder, ...all })
  const results = []
  for (const test of file.tests) results.push(await runTest(test, file, all))
  return Object.fromEntries(results.map(({ test, failures }) => [test.name, failures.map(({ message }) => message)]))
}

const lua = 'aip.file.save("out.txt", input.text)\nreturn { n = #input.text, list = { { name = "a" } } }\n'

describe('tests of agents', () => {
  it('are written in a file next to a Lua agent, and check its result and the files it changes', async () => {
    const folder = tempTree({
      '.aipack/x': '',
      'old.txt': 'old',
      'agents/len.lua': lua,
      'agents/len.schema.json': '{"type": "object", "required": ["n", "more"]}',
      'agents/len.test.toml': `[[test]]
name = "good"
input = { text = "abc" }
files = ["old.txt"]
expect = [
  { output = { n = 3, list = [{ name = "a" }] }, json = { "list[0].name" = "a" }, changed_files = ["out.txt"] },
  { lua = 'output.n == 3 and files["out.txt"] == "abc" and exit == 0', answer_contains = '"n":3' },
]

[[test]]
name = "bad"
input = { text = "abcd" }
expect = [{ output = { n = 3 }, schema = "len.schema.json", changed_files = [] }, { lua = "nosuch.x" }]
`,
    })
    expect(await failuresOf(folder, 'agents/len.lua')).toEqual({
      good: [],
      bad: [
        'the output differs from the expected output',
        expect.stringMatching(/^the output does not match the schema: \$ .*more/) as string,
        'out.txt was changed unexpectedly',
        "the Lua expression failed: attempt to index a nil value (global 'nosuch')",
      ],
    })
  })

  it('are in the Options of an .aip agent, where a run and a check ignore them', async () => {
    const options = '[[test]]\nname = "shouts"\ninput = "hi"\nexpect = [{ output = "HI" }]\n'
    const folder = tempTree({
      '.git/HEAD': '',
      'up.aip': `# Options\n\n\`\`\`toml\n${options}\`\`\`\n\n# Output\n\n\`\`\`lua\nreturn input:upper()\n\`\`\`\n`,
    })
    expect(await failuresOf(folder, 'up.aip')).toEqual({ shouts: [] })
  })

  it('of a pack are found by its name, of its main agent too', async () => {
    const upper = '# Output\n\n```lua\nreturn input:upper()\n```\n'
    const options = '[[test]]\nname = "shouts"\ninput = "hi"\nexpect = [{ output = "HI" }]\n'
    const text = `# Options\n\n\`\`\`toml\n${options}\`\`\`\n\n${upper}`
    const pack = '.baton/packs/demo/up'
    const folder = tempTree({ '.git/HEAD': '', [`${pack}/main.aip`]: text, [`${pack}/more.aip`]: text })
    expect(await failuresOf(folder, 'demo@up')).toEqual({ shouts: [] })
    expect(await failuresOf(folder, 'demo@up/more')).toEqual({ shouts: [] })
  })

  it.each([
    ['name = "a"\nvars = { x = 1 }', '"vars" is for prompt files'],
    ['name = "a"\nexpext = []', 'unknown key "expext" in test[0]'],
    ['expect = []', '"test[0].name" is missing'],
  ])('with a mistake are refused at its place: %j', async (entry, message) => {
    const folder = tempTree({ '.git/HEAD': '', 'a.lua': 'return 1', 'a.test.toml': `[[test]]\n${entry}\n` })
    await expect(failuresOf(folder, 'a.lua')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message,
      place: { file: join(folder, 'a.test.toml') },
    })
  })
})

describe('a model as judge', () => {
  it('is called when a test is recorded, and answers from its cassette afterwards', async () => {
    const server = await startModelServer(({ body }) => {
      const asked = JSON.stringify(body)
      if (!asked.includes('2. rude')) return { text: 'Good {{morning}}.' }
      const verdicts = [true, asked.includes('Good {{morning}}.') ? false : true].map((is_met) => ({
        is_met,
        reason: 'it greets',
      }))
      return { text: JSON.stringify({ verdicts }) }
    })
    onTestFinished(() => server.close())
    const prompt = (criteria: string): string =>
      `+++\nmodel = "m"\n[[test]]\nname = "greets"\ncassette = "greet.cassette"\njudge_model = "m"\nexpect = [{ judge = ${criteria} }]\n+++\nGreet.\n`
    const folder = tempTree({ '.git/HEAD': '', 'ask.md': prompt('["polite", "rude"]') })
    const unmet = { greets: ['the judge model found this not met: rude (it greets)'] }
    const env = { BATON_GATEWAY_URL: server.url }
    expect(await failuresOf(folder, 'ask.md', { env, writeCassette: writeCassetteFile })).toEqual(unmet)
    expect(existsSync(join(folder, 'greet.judge.cassette'))).toBe(true)
    const asked = server.requests.length
    expect(asked).toBe(2)
    expect(await failuresOf(folder, 'ask.md')).toEqual(unmet)
    expect(server.requests.length).toBe(asked)
  })

  it('needs a cassette', async () => {
    const test = '[[test]]\nname = "x"\nexpect = [{ judge = "good" }]\n'
    const folder = tempTree({ '.git/HEAD': '', 'a.lua': 'return 1', 'a.test.toml': test })
    expect(await failuresOf(folder, 'a.lua')).toEqual({
      x: ['judge needs a cassette to record the verdict of the model'],
    })
  })
})

it('results are valid JUnit XML, whatever they contain', async () => {
  const folder = tempTree({ '.git/HEAD': '', 'a.lua': 'return 1', 'a.test.toml': '[[test]]\nname = "<\\"&\\u0007"\n' })
  const { tests } = await loadTests('a.lua', { cwd: folder, env: {}, home: folder, overrides: [] })
  const [test] = tests
  if (test === undefined) throw new Error('a test')
  const nothing = { test, calls: 0, costUsd: 0, isRecorded: false, folder: undefined }
  const failures = [{ message: 'a < b\nmore', hint: 'do it', diff: '-1\n+2' }]
  const results = [
    { result: { ...nothing, failures: [] }, ms: 1500 },
    { result: { ...nothing, failures }, ms: 2 },
  ]
  expect(
    junitXml(
      [
        { file: 'a.lua', results },
        { file: 'b.md', results: [], error: { message: 'bad', place: { file: '/w/sub/b.md', line: 2 } } },
      ],
      '/w',
    ),
  ).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="baton test" tests="2" failures="1" time="1.502" errors="1">
  <testsuite name="a.lua" tests="2" failures="1" time="1.502" errors="0">
    <testcase name="&lt;&quot;&amp;\uFFFD" classname="a.lua" file="a.lua" line="2" time="1.500"/>
    <testcase name="&lt;&quot;&amp;\uFFFD" classname="a.lua" file="a.lua" line="2" time="0.002">
      <failure message="a &lt; b">a &lt; b
more
-1
+2
hint: do it</failure>
    </testcase>
  </testsuite>
  <testsuite name="b.md" tests="0" failures="0" time="0.000" errors="1">
    <testcase name="is valid" classname="b.md">
      <error message="bad">bad
at sub/b.md:2</error>
    </testcase>
  </testsuite>
</testsuites>
`)
})
