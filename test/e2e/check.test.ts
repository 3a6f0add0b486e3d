import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  '.git/HEAD': 'x\n',
  'good.md': '+++\nsub_agents = ["a.aip"]\n+++\nHi\n',
  'a.aip': '# Output\n\n```lua\nreturn 1\n```\n',
  'bad.md': '+++\ntemperature = "hot"\ncontext_globs = ["none"]\nsub_agents = ["b.lua"]\n+++\nHi\n',
  'other.md': '+++\nsub_agents = ["b.lua"]\n+++\nHi\n',
  'b.lua': 'aip.file.save("made.txt", "x")\nreturn )\n',
}

describe('baton check', () => {
  it('reports every error in all files, once, and counts them', async () => {
    const folder = tempTree(files)
    const { stdout, stderr, code } = await baton(['check', 'good.md', 'bad.md', 'other.md'], { cwd: folder })
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(stdout).toMatchInlineSnapshot(`
      "ok good.md
      error: "temperature" must be a number from 0 to 2, not "hot"
        at bad.md:2:15
        1 | +++
      > 2 | temperature = "hot"
          |               ^^^^^
        3 | context_globs = ["none"]
        4 | sub_agents = ["b.lua"]
      hint: Write a number from 0 to 2.
      warning: the glob "none" matches no file
        at bad.md:3:18
        1 | +++
        2 | temperature = "hot"
      > 3 | context_globs = ["none"]
          |                  ^^^^^^
        4 | sub_agents = ["b.lua"]
        5 | +++
      hint: Globs are relative to base_dir, which defaults to the workspace.
      error: unexpected symbol near ')'
        at b.lua:2:8
        1 | aip.file.save("made.txt", "x")
      > 2 | return )
          |        ^
        called from bad.md:4:15
      hint: Lua stopped reading here; the mistake is on this line or above it.
      not ok other.md: see the problems above
      2 errors, 1 warning in 3 files
      "
    `)
    expect(readdirSync(folder).toSorted()).toEqual(
      Object.keys({ '.git': '', ...files })
        .filter((name) => name !== '.git/HEAD')
        .toSorted(),
    )
  })

  it('shows at most 200 problems of a file as text, errors first, and counts the others', async () => {
    const missing = Array.from({ length: 199 }, (_, index) => `"none${index}.lua"`)
    const globs = Array.from({ length: 50 }, (_, index) => `"none${index}/*"`)
    const text = `+++\ncontext_globs = [${globs.join(', ')}]\nsub_agents = [${missing.join(', ')}]\n+++\nHi\n`
    const cwd = tempTree({ 'many.md': text })
    const { stdout, code } = await baton(['check', 'many.md'], { cwd })
    expect(code).toBe(2)
    expect(stdout.match(/^error: /gm)).toHaveLength(199)
    expect(stdout.match(/^warning: /gm)).toHaveLength(1)
    expect(stdout).toMatch(/\n49 more problems; --format json shows all\n199 errors, 50 warnings in 1 file\n$/)
    expect(jsonLines((await baton(['check', '--json', 'many.md'], { cwd })).stdout)).toHaveLength(249)
  })

  it('prints problems for programs, and only errors with -q', async () => {
    const cwd = tempTree(files)
    const json = await baton(['check', '--json', 'good.md', 'bad.md'], { cwd })
    expect(json.code).toBe(2)
    expect(jsonLines(json.stdout)).toMatchObject([
      { file: 'bad.md', line: 2, column: 15, endLine: 2, endColumn: 20, severity: 'error', code: 'CONFIG_INVALID' },
      { file: 'bad.md', line: 3, severity: 'warning' },
      { file: 'b.lua', line: 2, code: 'SCRIPT_FAILED', chain: [{ file: 'bad.md', line: 4, column: 15 }] },
    ])
    const github = await baton(['check', '--format', 'github', '-q', 'good.md', 'bad.md'], { cwd })
    expect(github.stdout.split('\n').map((line) => line.slice(0, 30))).toEqual([
      '::error file=bad.md,line=2,end',
      '::error file=b.lua,line=2,endL',
      '',
    ])
    const sarif = await baton(['check', '--format=sarif', 'bad.md'], { cwd })
    expect(JSON.parse(sarif.stdout)).toMatchObject({ version: '2.1.0', runs: [{ results: [{}, {}, {}] }] })
  })

  it('exits 0 with warnings, and refuses an unknown format', async () => {
    const cwd = tempTree({ ...files, 'src/a.ts': 'export const a = 1\n' })
    const warned = await baton(['check', 'src/a.ts'], { cwd })
    expect(warned).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^warning: .*\n[^]*\nok src\/a\.ts\n1 warning in 1 file\n$/),
    })
    expect(await baton(['check', '--format', 'xml', 'good.md'], { cwd })).toMatchObject({ code: 2, stdout: '' })
  })

  it('shows no secret from a file', async () => {
    const secret = 'sk-a-secret-nobody-may-see'
    const cwd = tempTree({
      '.git/HEAD': 'x\n',
      'ask.md': `+++\ntone = "${secret}"\ntemperature = "${secret}"\n+++\nHi\n`,
    })
    const env = { OPENAI_API_KEY: secret }
    for (const format of ['text', 'json', 'github', 'sarif']) {
      const { stdout, code } = await baton(['check', '--format', format, 'ask.md'], { cwd, env })
      expect({ code, shows: stdout.includes(secret) }, format).toEqual({ code: 2, shows: false })
      expect(stdout).toContain('"temperature')
    }
  })
})

it('shows which part of the schema an answer violated, and where in the answer', async () => {
  const server = await startModelServer(() => ({ text: '{ "items": [{ "name": 3 }] }' }))
  const schema =
    '[output.schema]\ntype = "object"\n[output.schema.properties.items]\ntype = "array"\nitems = { properties = { name = { type = "string" } } }'
  const folder = tempTree({ '.git/HEAD': 'x\n', 'ask.md': `+++\n${schema}\n+++\nHi\n` })
  const run = await baton(['ask.md', '-m', 'any'], { cwd: folder, env: { BATON_GATEWAY_URL: server.url } })
  await server.close()
  expect(run.stderr).toMatch(/\$\.items\[0\]\.name must be a string, but is 3\n {2}at ask\.md:6:42\n/)
  expect(run.code).toBe(1)
})
