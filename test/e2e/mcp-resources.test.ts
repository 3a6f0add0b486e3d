import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { startToolModel } from '../helpers/tool-model.ts'

const fixtures = join(root, 'test/fixtures/mcp')

function prompt(resources: string, more = ''): string {
  return `+++\nmodel = "m"\ncontext_resources = ${resources}\n${more}+++\nWhat is it?\n`
}

it('resources of a server are in the prompt of each task, and resume and replay read them from the record', async () => {
  const model = await startToolModel([
    { text: 'One.' },
    { text: 'Two.' },
    { status: 400, body: { error: {} } },
    { text: 'Again.' },
  ])
  const cwd = tempTree({
    'ask.md': prompt('["memos:memo://*"]', 'template = true\ninput_concurrency = 1\n'),
    'none.md': prompt('["memos:memo://none"]'),
    'other.md': prompt('["memo:memo://one"]'),
    'large.md': prompt('["memos:memo://o*"]', 'max_files_size_kb = 1\ncontext_globs = ["*.txt"]\n'),
    'large.txt': 'x'.repeat(990),
    'server.sh': `exec ${process.execPath} ${fixtures}/stdio.mjs '{}'\n`,
  })
  const config = `[mcp_servers.memos]\ncommand = "sh"\nargs = ["${join(cwd, 'server.sh')}"]\n`
  const home = tempTree({ 'config/config.toml': config })
  const run = (...args: readonly string[]) =>
    baton(args, { cwd, env: { BATON_GATEWAY_URL: model.url, BATON_HOME: home } })

  expect((await run('plan', 'ask.md')).stdout).toContain('resources memos:memo://* (not fetched, so not counted)')
  expect(await run('check', 'ask.md')).toMatchObject({ code: 0 })
  const unknown = await run('check', 'other.md')
  expect(unknown.stdout).toMatch(/context_resources\[0\]: there is no MCP server "memo"\n  at other\.md:3:22/)
  expect(await run('other.md')).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean "memos"?') })
  const none = await run('none.md')
  expect(none.stderr).toMatch(/context_resources: memo:\/\/none cannot be read/)
  expect((await run('large.md')).stderr).toMatch(/memos:memo:\/\/one \(1 kB\)/)
  expect(model.requests).toHaveLength(0)

  const ran = await run('ask.md', '-i', 'a', '-i', 'b', '--record', 'run.cassette')
  expect(ran).toMatchObject({ code: 0 })
  const sent = model.requests.map((request) => JSON.stringify(request.body))
  expect(sent).toHaveLength(2)
  for (const text of sent) {
    expect(text).toContain('<file path=\\"memos:memo://one\\" lines=\\"1\\">\\nthe first memo')
    expect(text).toContain('data:image/png;base64,')
  }
  expect((await run('ask.md')).code).not.toBe(0)
  rmSync(join(cwd, 'server.sh'))
  const resumed = await run('resume', '--last')
  expect(resumed).toMatchObject({ code: 0, stdout: 'Again.\n' })
  expect(await run('ask.md', '-i', 'a', '-i', 'b', '--replay', 'run.cassette')).toMatchObject({
    code: 0,
    stdout: ran.stdout,
  })
})
