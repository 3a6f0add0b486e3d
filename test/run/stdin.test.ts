import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startRun } from '../../src/runner.ts'
import { replayRun } from '../../src/wiring/replay.ts'
import { resumeRun } from '../../src/wiring/resume.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

async function world(files: Readonly<Record<string, string>>, answer: (index: number) => ModelReply) {
  const server = await startModelServer((_, index) => answer(index))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const env = { BATON_HOME: join(cwd, '.state'), BATON_GATEWAY_URL: server.url, MY_API_KEY: 'a-very-secret-key' }
  const asked = (): readonly string[] =>
    server.requests.map(({ body }) => (body?.messages ?? []).map(({ content }) => content).join('\n'))
  return { around: { cwd, env, home: cwd }, asked }
}

const refused = { status: 400, body: { error: { message: 'no' } } }

it('standard input is context of every task, and a resumed or replayed run reads it masked from its record', async () => {
  const { around, asked } = await world({}, (index) => (index < 2 ? refused : { text: 'fine' }))
  let folder = ''
  const stdin = 'the diff with a-very-secret-key\n'
  const given = {
    ...around,
    model: 'm',
    text: '+++\ntemplate = true\n+++\nReview {{input}}.',
    inputs: ['one', 'two'],
    stdin,
  }
  const options = { ...given, onRecord: (kept: string) => void (folder = kept), overrides: ['input_concurrency=1'] }
  expect((await startRun('-p', options, () => undefined)).exitCode).toBe(1)
  const resumed = await resumeRun({ ...around, folder }, () => undefined)
  expect(resumed.exitCode).toBe(1)
  expect((await resumeRun({ ...around, folder }, () => undefined)).exitCode).toBe(0)
  expect(asked().length).toBeGreaterThan(3)
  for (const text of asked())
    expect(text).toContain(`# Standard input\n\n<file path="stdin" lines="1">\n${stdin}</file>`)

  const record = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  expect(record.join('')).toContain('the diff with «secret:MY_API_KEY»')
  expect(record.join('')).not.toContain('a-very-secret-key')

  const replay = await replayRun(
    undefined,
    { ...around, record: { kind: 'run', folder }, observations: 'recorded' },
    () => undefined,
  )
  expect([replay.exitCode, replay.isSameResult]).toEqual([0, true])
})

it('counts towards the limit of a request', async () => {
  const { around, asked } = await world({}, () => ({ text: 'fine' }))
  const given = { ...around, model: 'm', text: 'Review.', overrides: ['max_files_size_kb=1'], stdin: 'x'.repeat(1_100) }
  const report = await startRun('-p', given, () => undefined)
  expect([report.exitCode, asked()]).toEqual([4, []])
  expect(report.error).toMatchObject({ code: 'LIMIT', hint: expect.stringContaining('stdin (2 kB)') })
})

it('is passed to an agent that answers: as `stdin` of its input to a script, in its message to a prompt file', async () => {
  const { around, asked } = await world(
    {
      'script.md': '+++\nagent = "a.lua"\n+++\nReview.\n',
      'a.lua': 'return "got " .. input.stdin',
      'prompt.md': '+++\nagent = "b.md"\n+++\nReview.\n',
      'b.md': 'Answer.\n',
    },
    () => ({ text: 'fine' }),
  )
  const given = { ...around, model: 'm', stdin: 'a diff' }
  expect((await startRun('script.md', given, () => undefined)).tasks).toMatchObject([{ content: 'got a diff' }])
  await startRun('prompt.md', given, () => undefined)
  expect(asked()).toEqual([expect.stringContaining('<stdin lines="1">\na diff\n</stdin>')])
})

it('is the only input of an agent that is run on its own', async () => {
  const { around } = await world({ 'a.aip': '# Output\n\n```lua\nreturn "got " .. input\n```\n' }, () => ({}))
  expect((await startRun('a.aip', { ...around, stdin: 'a diff' }, () => undefined)).outputs).toEqual(['got a diff'])
  const both = await startRun('a.aip', { ...around, stdin: 'a diff', inputs: ['one'] }, () => undefined)
  expect(both).toMatchObject({ exitCode: 2, error: { code: 'USAGE' } })
})
