import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines, snapshot } from '../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface Case {
  readonly files: { readonly [path: string]: string | Uint8Array }
  /** Called when the files exist. */
  readonly prepare?: (folder: string) => void
  readonly code: number
  readonly message: string
  /** `file:line:column`, as far as known. */
  readonly at: string
  readonly hint: RegExp
}

/** Runs `ask.md` and expects one error with place, hint and exit code, nothing on stdout, and an unchanged folder. */
async function refuses({ files, prepare, code, message, at, hint }: Case): Promise<void> {
  const folder = tempTree({ '.git/HEAD': 'x\n', ...files })
  prepare?.(folder)
  const before = snapshot(folder)
  const run = await baton(['ask.md'], { cwd: folder })
  expect(run.stderr.match(/^error:/gm), run.stderr).toHaveLength(1)
  expect(run.stderr).toContain(message)
  expect(run.stderr).toMatch(new RegExp(`^  at ${at.replaceAll('.', '\\.')}$`, 'm'))
  expect(run.stderr).toMatch(hint)
  expect(run.stderr).not.toMatch(/\.(?:ts|js):\d/)
  expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' })
  expect(snapshot(folder)).toEqual(before)

  const json = await baton(['ask.md', '--json'], { cwd: folder })
  const events = jsonLines(json.stdout)
  expect(events.filter(({ type }) => type === 'run.started')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'run.failed')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'run.failed', exit_code: code })
  expect(json.code).toBe(code)
}

function prompt(frontMatter: string): { readonly 'ask.md': string } {
  return { 'ask.md': `+++\n${frontMatter}\n+++\nDo it.\n` }
}

function lua(code: string): { readonly [path: string]: string } {
  return { ...prompt('sub_agents = ["a.lua"]'), 'a.lua': code }
}

describe('an unreadable prompt file', () => {
  it('TOML syntax', () =>
    refuses({ files: prompt('model = = "x"'), code: 2, message: 'front matter', at: 'ask.md:2:9', hint: /^hint: /m }))
  it('wrong type', () =>
    refuses({
      files: prompt('temperature = "hot"'),
      code: 2,
      message: '"temperature"',
      at: 'ask.md:2:15',
      hint: /^hint: /m,
    }))
  it('misspelt key', () =>
    refuses({
      files: prompt('temprature = 0.5'),
      code: 2,
      message: '"temprature"',
      at: 'ask.md:2:1',
      hint: /temperature/,
    }))
  it('missing agent', () =>
    refuses({
      files: prompt('sub_agents = ["context-bilder"]'),
      code: 2,
      message: 'there is no agent "context-bilder"',
      at: 'ask.md:2:15',
      hint: /context-builder/,
    }))
  it('an unsupported key', () =>
    refuses({
      files: prompt('instructions = "auto"'),
      code: 2,
      message: 'instructions = "auto" is not available in this version',
      at: 'ask.md:2:1',
      hint: /^hint: /m,
    }))
  it('invalid UTF-8', () =>
    refuses({
      files: { 'ask.md': new Uint8Array([0x68, 0x69, 0x0a, 0xff, 0x0a]) },
      code: 2,
      message: 'not UTF-8',
      at: 'ask.md:2:1',
      hint: /UTF-8/,
    }))
  it('11 MB', () =>
    refuses({
      files: { 'ask.md': new Uint8Array(11 * 1024 * 1024).fill(0x61) },
      code: 2,
      message: 'at most 10 MB',
      at: 'ask.md',
      hint: /context_globs/,
    }))
  it('missing file', () => refuses({ files: {}, code: 2, message: 'there is no file', at: 'ask.md', hint: /^hint: /m }))
})

describe('faulty agents', () => {
  it('cyclic agents', () =>
    refuses({
      files: {
        ...prompt('sub_agents = ["a.lua"]'),
        'a.lua': 'return aip.agent.run("b.aip", { input = 1 })',
        'b.aip': '# Output\n\n```lua\nreturn aip.agent.run("c.lua", { input = 1 })\n```\n',
        'c.lua': 'return aip.agent.run("b.aip", { input = 1 })',
      },
      code: 2,
      message: 'a.lua → b.aip → c.lua → b.aip',
      at: 'a.lua:1',
      hint: /without running the other/,
    }))
  it('an agent returning a number', () =>
    refuses({
      files: lua('return 42'),
      code: 1,
      message: 'Sub-agent [a.lua] returned a number, expected a table or nil',
      at: 'a.lua',
      hint: /^hint: /m,
    }))
  it('a Lua syntax error', () =>
    refuses({
      files: lua('local x = = 1'),
      code: 1,
      message: 'Sub-agent [a.lua] failed:',
      at: 'a.lua:1',
      hint: /^hint: /m,
    }))
  it('a Lua runtime error, at its line of the Markdown file', () =>
    refuses({
      files: {
        ...prompt('sub_agents = ["a.aip"]'),
        'a.aip': '# Title\n\ntext\n\n# Output\n\n```lua\nlocal t = nil\nreturn t.x\n```\n',
      },
      code: 1,
      message: "attempt to index a nil value (local 't')",
      at: 'a.aip:9:8',
      hint: /^hint: /m,
    }))
})

describe('paths that leave the workspace', () => {
  const outside = tempTree({ 'secret.txt': 'outside\n' })

  function link(folder: string): void {
    symlinkSync(outside, join(folder, 'link'))
  }

  it('a glob, by ..', () =>
    refuses({
      files: prompt('context_globs = ["../*.txt"]'),
      code: 2,
      message: '../*.txt',
      at: 'ask.md:2:18',
      hint: /^hint: /m,
    }))
  it('base_dir, by ..', () =>
    refuses({
      files: prompt('base_dir = "../elsewhere"'),
      code: 2,
      message: '../elsewhere',
      at: 'ask.md:2:12',
      hint: /^hint: /m,
    }))
  it('a glob, by a link', () =>
    refuses({
      files: prompt('context_globs = ["link/*.txt"]\nmodel = "offline::extractive"'),
      prepare: link,
      code: 2,
      message: 'link',
      at: 'ask.md:2:1',
      hint: /!link/,
    }))

  it('a glob, by an absolute path', () =>
    refuses({
      files: prompt(`knowledge_globs = ["${outside}/*.txt"]`),
      code: 2,
      message: 'leaves base_dir',
      at: 'ask.md:2:20',
      hint: /^hint: /m,
    }))

  const writes = {
    'by ..': `"${join('..', outside.split('/').at(-1) ?? '', 'secret.txt')}"`,
    'by a link': '"link/secret.txt"',
    'by an absolute path': `"${outside}/secret.txt"`,
  }
  it.each(Object.entries(writes))('a Lua write, %s', (_, path) =>
    refuses({
      files: lua(`\naip.file.save(${path}, "changed")`),
      prepare: link,
      code: 1,
      message: 'outside the workspace',
      at: 'a.lua:2',
      hint: /^hint: /m,
    }),
  )

  it('and the outside is unchanged', () => {
    expect(snapshot(outside)).toEqual({ 'secret.txt': 'outside\n' })
  })
})

describe('an untrusted workspace', () => {
  it('may not send keys to its own base_url', () =>
    refuses({
      files: { 'ask.md': 'Do it.\n', 'baton.toml': '[providers.openai]\nbase_url = "http://127.0.0.1:9"\n' },
      code: 6,
      message: 'providers',
      at: 'baton.toml:1:2',
      hint: /^hint: /m,
    }))
})

describe('a failing server', () => {
  const key = 'sk-this-is-a-key-nobody-may-see'

  it.each([
    ['500', { status: 500, body: { error: { message: 'internal' } } }, 1, /500/, 3],
    ['401', { status: 401, body: { error: { message: `bad key ${key}` } } }, 3, /401|refused/, 1],
    ['garbage', { body: '<html>not a stream</html>', headers: { 'content-type': 'text/html' } }, 1, /html/i, 1],
    ['a close in the middle of the stream', { text: 'one two three four', cutAfter: 3 }, 1, /middle|closed|cut/, 3],
  ] as const)('%s', async (_, reply, code, message, calls) => {
    const server = await startModelServer(() => reply as ModelReply)
    const folder = tempTree({ 'ask.md': 'Do it.\n' })
    writeFileSync(join(folder, 'note.txt'), 'stays\n')
    const before = snapshot(folder)
    const run = await baton(['ask.md', '-m', 'any', '-c', 'retry.max_attempts=3'], {
      cwd: folder,
      env: { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: key },
    })
    await server.close()
    expect(run.stderr.match(/^error:/gm), run.stderr).toHaveLength(1)
    expect(run.stderr).toMatch(message)
    expect(run.stderr).toMatch(/^hint: /m)
    expect(run.stderr + run.stdout).not.toContain(key)
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' })
    expect(snapshot(folder)).toEqual(before)
    expect(server.requests).toHaveLength(calls)
  })
})
