import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines, snapshot } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const touch = 'aip.cmd.exec("touch", { "ran.txt" })\naip.web.get(os.getenv("SERVER") or "")\nreturn nil\n'
const files = {
  '.git/HEAD': 'x\n',
  'review.md': `+++
max_tokens = 1000
working_globs = ["src/*.ts"]
sub_agents = [
  { name = "./outline.md", as = "result" },
  { name = "agents/pick.aip", limit = 5 },
  { name = "agents/lint.lua", stage = "post_task" },
]
+++
Review it.
`,
  'outline.md': '+++\nmax_tokens = 200\n+++\nOutline the work.\n',
  'agents/pick.aip': `# Before All\n\n\`\`\`lua\n${touch}\`\`\`\n\n# User\n\nPick files.\n`,
  'agents/lint.lua': touch,
  'src/a.ts': 'export const a = 1\n',
  'src/b.ts': 'export const b = 2\n',
}

/** A server that counts requests, for every way in which a run could find a model. */
async function countingServer(): Promise<{ readonly url: string; readonly count: () => number; close(): void }> {
  let connections = 0
  const server = createServer((_, response) => response.end('{"data":[{"id":"m"}]}')).on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, count: () => connections, close: () => server.close() }
}

describe('baton plan', () => {
  it('shows what a run will do and cost, and runs nothing, asks nobody, writes nothing', async () => {
    const folder = tempTree(files)
    const server = await countingServer()
    const before = snapshot(folder)
    const env = { BATON_LOCAL_SERVERS: 'on', OLLAMA_HOST: server.url, SERVER: server.url }
    const { stdout, stderr, code, home } = await baton(['plan', 'review.md', '--max-cost', '2'], { cwd: folder, env })
    server.close()
    expect({ code, stderr, connections: server.count() }).toEqual({ code: 0, stderr: '', connections: 0 })
    expect(snapshot(folder)).toEqual(before)
    expect(existsSync(home)).toBe(false)
    expect(stdout).toMatchInlineSnapshot(`
      "plan of review.md: as written; nothing was run or sent

      files  working 2 files (1 kB) · decided by pre/1:agents%2Fpick.aip
      pre
        0:./outline.md  prompt file outline.md · as = "result"
          files  none
          task  1
            outline.md  82 tokens
            ask  a local server, else offline::extractive (chosen at the start) · 1 request · 82 tokens in, at most 200 out
        1:agents/pick.aip  .aip agents/pick.aip · limit = 5
          may change params, files, model, instruction, the agents after it
          asks a local server, else offline::extractive (chosen at the start) · 1 request · 4 tokens in · once for each input
          decides its inputs, its options, what its prompt contains
      tasks  2 from working_globs, 2 at once · decided by pre/1:agents%2Fpick.aip
        src/a.ts  1 file (1 kB) · 96 tokens
        src/b.ts  1 file (1 kB) · 96 tokens
        ask  a local server, else offline::extractive (chosen at the start) · 2 requests · 192 tokens in, at most 1,000 out each · decided by pre/1:agents%2Fpick.aip
        post_task
          0:agents/lint.lua  .lua agents/lint.lua · 2 times · decided by pre/1:agents%2Fpick.aip
            may change the answer, the agents after it

      limits
        budget    $2
        retries   up to 3 tries of each request; one that fails midway is paid for as well
        files     up to 1,500 kB in one request

      decided at run time
        decided by pre/1:agents%2Fpick.aip: params, files, model, instruction, the agents after it, its inputs, its options, what its prompt contains
        decided by task/*/post_task/0:agents%2Flint.lua: the answer, the agents after it

      total
        as written  4 requests · 278 tokens in · 18,584 out · free
        at least    1 request · 82 tokens in · free
        at most     no upper limit except the budget: $2
        "at least" counts only what no script can change.
      "
    `)
  })

  it('prints the same as one JSON line, and accepts -i, -p and -m', async () => {
    const folder = tempTree({ '.git/HEAD': 'x\n' })
    const args = [
      'plan',
      '-p',
      '+++\ntemplate = true\n+++\nTell of it.',
      '-i',
      'one',
      '-i',
      'two',
      '-m',
      'offline::extractive',
      '--json',
    ]
    const { stdout, code } = await baton(args, { cwd: folder })
    expect(code).toBe(0)
    expect(jsonLines(stdout)).toMatchObject([
      {
        schema: 1,
        type: 'plan',
        target: { kind: 'prompt', tasks: { from: 'inputs', list: [{ label: 'one' }, { label: 'two' }] } },
        total: { requests: { at_least: 2, as_written: 2, at_most: 18 }, usd: { at_most: 0 } },
        open: [],
      },
    ])
  })

  it('fails as the run would: with the place and exit code 2', async () => {
    const folder = tempTree({ '.git/HEAD': 'x\n', 'a.md': '+++\nsub_agents = ["missing.aip"]\n+++\nHi\n' })
    const { stdout, stderr, code } = await baton(['plan', 'a.md'], { cwd: folder })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('a.md:2')
    expect((await baton(['plan'], { cwd: folder })).code).toBe(2)
  })
})
