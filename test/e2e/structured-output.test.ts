import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const schema =
  '{ type = "object", required = ["name", "stars"], properties = { name = { type = "string" }, stars = { type = "integer", minimum = 1 } } }'

const ask = (output: string): string => `+++
model = "m"
[output]
schema = ${output}
+++
Rate the project.
`

async function run(
  files: { readonly [path: string]: string },
  script: ModelScript,
  ...args: readonly string[]
): Promise<BatonResult & { readonly server: ModelServer }> {
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const result = await baton(['ask.md', ...args], { cwd: folder, env: { BATON_GATEWAY_URL: server.url } })
  return { ...result, server }
}

it('prints the JSON of a valid answer, without the text around it', async () => {
  const text = 'Here you are:\n\n```json\n{"name":"Baton","stars":5}\n```\n'
  const { code, stdout, server } = await run({ 'ask.md': ask(schema) }, [{ text }])
  expect(code).toBe(0)
  expect(stdout).toBe('{\n  "name": "Baton",\n  "stars": 5\n}\n')
  expect(server.requests[0]?.body?.['response_format']).toMatchObject({ type: 'json_schema' })
})

it('sends back an invalid answer, and uses the corrected one', async () => {
  const { code, stdout, server } = await run({ 'ask.md': ask(schema) }, [
    { text: '{"name":"Baton","stars":"five"}' },
    { text: '{"name":"Baton","stars":0}' },
    { text: '{"name":"Baton","stars":1}' },
  ])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ name: 'Baton', stars: 1 })
  const messages = server.requests[2]?.body?.messages ?? []
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user'])
  expect(messages[3]?.content).toContain('$.stars')
})

it('fails after two corrections, and reports the remaining errors', async () => {
  const { code, stdout, stderr, server } = await run({ 'ask.md': ask(schema) }, () => ({ text: '{"name":"Baton"}' }))
  expect([code, stdout, server.requests.length]).toEqual([1, '', 3])
  expect(stderr).toContain('the answer does not match [output] after 2 corrections: $')
  expect(stderr).toContain('stars')
})

it('fails when a post_task agent replaces it with something else', async () => {
  const file = ask(schema).replace('[output]', 'sub_agents = [{ name = "say.lua", stage = "post_task" }]\n[output]')
  const say = 'return { ai_response = "Nice." }\n'
  const { code, stderr } = await run({ 'ask.md': file, 'say.lua': say }, [{ text: '{"name":"Baton","stars":5}' }])
  expect(code).toBe(1)
  expect(stderr).toContain(
    'the post_task agents replaced the answer with a value that does not match [output]: $ is not JSON',
  )
})

it('is requested again by a resume of a run with invalid answers', async () => {
  const server = await startModelServer((_, index) => ({
    text: index < 3 ? '{"name":"Baton"}' : '{"name":"B","stars":2}',
  }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'ask.md': ask(schema) })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({}) }
  const first = await baton(['ask.md'], { cwd, env })
  expect(first.stderr).toContain('# asks for a new answer')
  const { code, stdout } = await baton(['resume', '--last'], { cwd, env })
  expect([code, server.requests.length]).toEqual([0, 4])
  expect(JSON.parse(stdout)).toEqual({ name: 'B', stars: 2 })
})

it('reads the schema from a file, and an invalid schema is an error before anything runs', async () => {
  const good = { 'ask.md': ask('"answer.json"'), 'answer.json': '{ "type": "array", "items": { "type": "integer" } }' }
  expect((await run(good, [{ text: '[1, 2]' }])).stdout).toBe('[\n  1,\n  2\n]\n')

  const bad = { ...good, 'answer.json': '{\n  "type": "arrow"\n}' }
  const { code, stderr, server } = await run(bad, [{ text: '[]' }])
  expect([code, server.requests.length]).toEqual([2, 0])
  expect(stderr).toMatch(/answer\.json:2:\d+/)
})

it('cannot be combined with write_mode', async () => {
  const text = ask(schema).replace('model = "m"', 'model = "m"\nwrite_mode = true')
  const { code, stderr } = await run({ 'ask.md': text }, [])
  expect(code).toBe(2)
  expect(stderr).toContain('"output" and write_mode = true cannot be combined')
})

it('passes the value to post agents', async () => {
  const files = {
    'ask.md': ask(schema).replace('model = "m"', 'model = "m"\nsub_agents = [{ name = "see.lua", stage = "post" }]'),
    'see.lua': 'print(input.coder_responses[1].value.stars + 1)',
  }
  const { stderr } = await run(files, [{ text: '{"name":"Baton","stars":4}' }])
  expect(stderr).toContain('[see.lua] 5')
})

it('is in the events as text', async () => {
  const { stdout } = await run({ 'ask.md': ask(schema) }, [{ text: '{"name":"Baton","stars":4}' }], '--json')
  const last = jsonLines(stdout).at(-1)
  expect(JSON.parse(String(last?.['result']))).toEqual({ name: 'Baton', stars: 4 })
})
