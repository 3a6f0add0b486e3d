import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { baton, jsonLines, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

// these tests spawn the command
vi.setConfig({ testTimeout: 60_000 })

const counting = `+++
agent = "count.lua"
write_mode = true

[[test]]
name = "counts"
files = { "in.txt" = "a b" }
expect = [{ answer_contains = "2 words" }, { calls = 0 }]

[[test]]
name = "writes what it counted"
files = { "in.txt" = "a b c" }
expect = [{ answer_contains = ["3", "4"], file_equals = { "out.txt" = "three\\n" } }]
+++
Count.
`
const files = {
  'baton.toml': '',
  'prompts/count.md': counting,
  'count.lua': `
local words = select(2, aip.file.load("in.txt").content:gsub("%S+", ""))
aip.file.save("out.txt", words .. "\\n")
return words .. " words"`,
  'plain.md': 'Ask.\n',
}

describe('baton test', () => {
  it('lists the passed tests, and shows the expected and actual results of the others', async () => {
    const cwd = tempTree(files)
    const { code, stdout, stderr } = await baton(['test', 'prompts/count.md'], { cwd })
    expect({ stdout, stderr }).toEqual({
      stdout: `✓ counts
✗ writes what it counted (prompts/count.md:11)
  the answer does not contain "4": "3 words"
  at prompts/count.md:13:13
  out.txt differs from the expected content
  at prompts/count.md:13:59
  --- expected
  +++ out.txt
  @@ -1 +1 @@
  -three
  +3
1 passed, 1 failed (2 tests, 1 file)
`,
      stderr: '',
    })
    expect(code).toBe(100)
  })

  it('prints JSON lines, runs the selected tests, and ends with 2 when a file is invalid', async () => {
    const cwd = tempTree(files)
    const { code, stdout, stderr } = await baton(
      ['test', 'plain.md', 'prompts/count.md', '--name', 'COUNTS', '--json'],
      {
        cwd,
      },
    )
    expect(jsonLines(stdout)).toMatchObject([
      { type: 'error', file: 'plain.md', error: { code: 'USAGE', message: 'plain.md has no test' } },
      { type: 'test', file: join(cwd, 'prompts/count.md'), name: 'counts', line: 6, status: 'passed', failures: [] },
      { type: 'summary', passed: 1, failed: 0, files: 1 },
    ])
    expect(stderr).toContain('plain.md has no test')
    expect(code).toBe(2)
  })

  it('passes the tests of the built-in pipelines, without a key', async () => {
    const tested = readdirSync(join(root, 'pipelines'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `pipelines/${name}`)
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('[[test]]'))
    expect(tested.length).toBeGreaterThanOrEqual(2)
    const { code, stdout } = await baton(['test', ...tested], { cwd: root })
    expect(stdout).toMatch(/^\d+ passed \(\d+ tests, \d+ files\)$/m)
    expect({ code, stdout: stdout.includes('✗') }).toEqual({ code: 0, stdout: false })
  })
})
