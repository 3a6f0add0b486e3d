import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines, snapshot } from '../helpers/baton.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

async function withServer<T>(text: string, work: (server: ModelServer) => Promise<T>): Promise<T> {
  const server = await startModelServer(() => ({ text }))
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}

function lastMessage({ requests }: ModelServer): unknown {
  return requests.at(-1)?.body?.messages.at(-1)?.content
}

const prompt =
  '---\nmodel: any\ninput:\n  name: { required: true, description: whom to greet }\n---\nGreet {{input.name}}.\n\n====\nold\n'

describe('a prompt that is not a file', () => {
  it('comes from -p and from standard input, with front matter and variables, and nothing is written', () =>
    withServer('Hello.', async (server) => {
      const cwd = tempTree({ 'a.txt': 'A' })
      const env = { BATON_GATEWAY_URL: server.url }
      const fromFlag = await baton(['-p', prompt, '--var', 'name=Ada', '-i', 'x'], { cwd, env })
      expect(fromFlag).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' })
      expect(lastMessage(server)).toBe('Greet Ada.')
      const fromInput = await baton(['run', '-', '--var', 'name=Bob', '--json'], { cwd, env, input: prompt })
      expect(fromInput).toMatchObject({ code: 0, stderr: '' })
      expect(lastMessage(server)).toBe('Greet Bob.')
      expect(jsonLines(fromInput.stdout)[0]).toMatchObject({ type: 'run.started', file: 'stdin', target: 'prompt' })
      expect(snapshot(cwd)).toEqual({ 'a.txt': 'A' })
    }))

  it('requires its variables by the flag, and shows where they are declared', async () => {
    const { code, stderr } = await baton(['-p', prompt], { cwd: tempTree({}) })
    expect(code).toBe(2)
    expect(stderr).toContain('error: missing variable "name": whom to greet\n  at -p:4:3\n')
    expect(stderr).toContain('hint: Add --var name=…\n')
  })

  it('is refused when standard input is binary', async () => {
    const { code, stdout, stderr } = await baton(['-'], { cwd: tempTree({}), input: Buffer.from([0, 1, 2]) })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('stdin contains a NUL byte')
  })
})

describe('--output and --output-schema', () => {
  it('write the JSON of an answer only to the file, overriding the schema of the file', () =>
    withServer('It is {"n": 3}.', async (server) => {
      const cwd = tempTree({
        'w/.git/HEAD': 'x',
        'w/ask.md': '+++\n[output.schema]\ntype = "string"\n+++\nHow many?\n',
        'n.json': '{ "type": "object", "required": ["n"] }',
      })
      const args = ['ask.md', '-C', 'w', '-m', 'any', '--output', '../out.json', '--output-schema', '../n.json']
      const run = await baton(args, { cwd, env: { BATON_GATEWAY_URL: server.url } })
      expect(run).toMatchObject({ code: 0, stdout: '' })
      expect(JSON.parse(snapshot(cwd)['out.json'] ?? '')).toEqual({ n: 3 })
    }))

  it('write nothing when the run fails: partial answers are on stdout', () =>
    withServer('Paid.', async (server) => {
      const cwd = tempTree({
        'ask.md': '+++\nsub_agents = [{ name = "no.lua", stage = "post" }]\n+++\nHi\n',
        'no.lua': 'error("no")',
      })
      const run = await baton(['ask.md', '-m', 'any', '--output', join(cwd, 'out.md')], {
        cwd,
        env: { BATON_GATEWAY_URL: server.url },
      })
      expect(run).toMatchObject({ code: 1, stdout: 'Paid.\n' })
      expect(run.stderr).toContain('out.md was not written, because the run failed')
      expect(Object.keys(snapshot(cwd)).toSorted()).toEqual(['ask.md', 'no.lua'])
    }))

  it('write the output of an agent; events stay on stdout', async () => {
    const cwd = tempTree({ 'a.lua': 'print("seen")\nreturn "out"' })
    const run = await baton(['a.lua', '--json', '--output', 'out.txt'], { cwd })
    expect(run.code).toBe(0)
    expect(jsonLines(run.stdout).at(-1)).toMatchObject({ type: 'run.completed' })
    expect(snapshot(cwd)['out.txt']).toBe('seen\nout')
  })
})
