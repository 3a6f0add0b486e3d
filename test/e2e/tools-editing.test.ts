import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonOptions, type BatonResult, jsonLines, snapshot } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly model: ToolModel
  readonly folder: string
  readonly run: (args: readonly string[], options?: Partial<BatonOptions>) => Promise<BatonResult>
  readonly look: () => ReturnType<typeof snapshot>
}

/** `config`: the user's config file. */
async function world(
  replies: readonly ModelReply[],
  files: { readonly [path: string]: string },
  config = '',
): Promise<World> {
  const model = await startToolModel(replies)
  const folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const home = tempTree({ 'config/config.toml': `budget.unpriced = "allow"\n${config}` })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home }
  return {
    model,
    folder,
    run: (args, options = {}) => baton(args, { cwd: folder, ...options, env: { ...env, ...options.env } }),
    look: () => snapshot(folder),
  }
}

function prompt(keys: string): string {
  return `+++\nmodel = "m"\n${keys}\n+++\nChange it.\n`
}

const writing = prompt('write_mode = true\ntools = ["write", "edit"]\ncontext_globs = ["src/*"]')
const source = 'const a = 1\nconst b = 2\nconst c = 3\n'

describe('a model that changes files by calling tools', () => {
  it('is told the result of each call; the run reports its changes, and undo reverts them', async () => {
    const calls = callsTools(
      ['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 22' }],
      ['write', { path: 'docs/new.md', content: '# New\n' }],
      ['edit', { path: 'src/a.js', old_text: 'const  c=3', new_text: 'x' }],
    )
    const { model, folder, run, look } = await world([calls, { text: 'Done.' }], {
      'ask.md': writing,
      'src/a.js': source,
    })
    const before = look()
    const { code, stdout, stderr } = await run(['ask.md'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(model.offered()).toEqual(['edit', 'write'])
    expect(model.results()).toEqual([
      'Changed src/a.js at line 2.\n1\tconst a = 1\n2\tconst b = 22\n3\tconst c = 3',
      'Created docs/new.md, 1 line.',
      expect.stringMatching(/^Error: the text to replace is not in src\/a\.js\. The nearest place is:\n1\t/),
    ])
    // the format for changes in answers is not requested
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain('FILE_PATCH')
    expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toBe(source.replace('b = 2', 'b = 22'))
    // in the order in which they end
    expect(stderr).toMatch(/^edit src\/a\.js$/m)
    expect(stderr).toMatch(/^write docs\/new\.md$/m)
    expect(stderr).not.toContain('patch')
    const [, see = '', undo = ''] =
      /^2 files changed · see: baton (.*) · undo: baton (.*)$/m.exec(stderr) ?? expect.unreachable(stderr)
    const diff = await run(see.split(' '))
    expect(diff.stdout).toContain('-const b = 2\n+const b = 22\n')
    expect(diff.stdout).toContain('+++ b/docs/new.md\n@@ -0,0 +1 @@\n+# New\n')
    expect((await run(undo.split(' '))).code).toBe(0)
    expect(look()).toEqual(before)
  })

  it('is offered no such tools without write_mode, with one warning', async () => {
    const { model, run } = await world([{ text: 'No.' }], { 'ask.md': prompt('tools = ["write", "edit", "todo"]') })
    const { code, stderr } = await run(['ask.md'])
    expect(code).toBe(0)
    expect(model.offered()).toEqual(['todo'])
    expect(stderr.match(/write and edit are not offered to the model/g)).toHaveLength(1)
    const all = await world([{ text: 'No.' }], { 'ask.md': prompt('tools = ["*"]') })
    expect((await all.run(['ask.md'])).stderr).not.toContain('not offered')
  })

  it('changes nothing in a dry run, which shows what it would change', async () => {
    const calls = callsTools(['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 22' }])
    const more = callsTools(['edit', { path: 'src/a.js', old_text: 'b = 22', new_text: 'b = 222' }])
    const files = { 'ask.md': writing, 'src/a.js': source }
    const { model, run, look } = await world([calls, more, { text: 'Done.' }], files)
    const before = look()
    const { code, stdout } = await run(['ask.md', '--dry', 'changes'])
    expect(code).toBe(0)
    expect(stdout).toContain('--- a/src/a.js\n+++ b/src/a.js\n')
    expect(stdout).toContain('-const b = 2\n+const b = 222\n')
    expect(model.results()).toEqual([
      'Changed src/a.js at line 2.\n1\tconst a = 1\n2\tconst b = 222\n3\tconst c = 3\nThis is a dry run: src/a.js is unchanged on disk, but read, edit and write see this change.',
    ])
    expect(look()).toEqual(before)
  })

  it('sees in a resumed dry run what it would have changed before', async () => {
    const calls = [
      callsTools(['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 22' }]),
      callsTools(['todo', { todos: [] }]),
      callsTools(['edit', { path: 'src/a.js', old_text: 'b = 22', new_text: 'b = 222' }]),
      { text: 'Done.' },
    ]
    const asking = writing.replace('tools = [', 'permission.todo = "ask"\ntools = ["todo", ')
    const { model, run, look } = await world(calls, { 'ask.md': asking, 'src/a.js': source })
    const before = look()
    expect((await run(['ask.md', '--dry', 'changes', '--on-ask', 'suspend'])).code).toBe(5)
    const resumed = await run(['approve'])
    expect(model.results()[0]).toContain('Changed src/a.js at line 2.')
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('-const b = 2\n+const b = 222\n')])
    expect(resumed.stdout).not.toContain('b = 22\n')
    expect(look()).toEqual(before)
  })

  it('is refused if each change needs an approval and nobody is there', async () => {
    const calls = callsTools(['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 22' }])
    const asking = writing.replace('write_mode = true', 'write_mode = "ask"')
    const files = { 'ask.md': asking, 'src/a.js': source }
    const refused = await world([calls, { text: 'Then not.' }], files)
    expect(await refused.run(['ask.md'])).toMatchObject({ code: 0, stdout: 'Then not.\n' })
    expect(refused.model.results()).toEqual(['Error: permission denied: write_mode = "ask", and nobody can be asked'])
    expect(readFileSync(join(refused.folder, 'src/a.js'), 'utf8')).toBe(source)
    const agreed = await world([calls, { text: 'Done.' }], files)
    expect(await agreed.run(['ask.md', '-y'])).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(readFileSync(join(agreed.folder, 'src/a.js'), 'utf8')).toContain('b = 22')
  })

  it('reports its changes to post_task agents', async () => {
    const calls = callsTools(['write', { path: 'src/b.js', content: 'b\n' }])
    const look = 'return { ai_response = { content = input.file_changes[1].file_path } }\n'
    const file = writing.replace(
      '+++\nChange',
      'sub_agents = [{ name = "./look.lua", stage = "post_task" }]\n+++\nChange',
    )
    const { run } = await world([calls, { text: 'Done.' }], { 'ask.md': file, 'look.lua': look })
    const result = await run(['ask.md'])
    expect(result).toMatchObject({ code: 0, stdout: 'src/b.js\n' })
  })
})

it('a person may write a file between a call that knows it and the next', async () => {
  const calls = [
    callsTools(['edit', { path: 'src/a.js', old_text: 'a = 1', new_text: 'a = 11' }]),
    callsTools(['write', { path: 'src/a.js', content: 'all new\n' }]),
    callsTools(['edit', { path: 'src/a.js', old_text: 'c = 3', new_text: 'c = 33' }]),
    { text: 'Done.' },
  ]
  const { model, folder, run } = await world(calls, { 'ask.md': writing, 'src/a.js': source })
  let edits = 0
  const { code } = await run(['ask.md', '--json'], {
    onOutput: (stdout) => {
      if (edits > 0 || !stdout.includes('"tool.completed"')) return
      edits += 1
      writeFileSync(join(folder, 'src/a.js'), `// mine\n${readFileSync(join(folder, 'src/a.js'), 'utf8')}`)
    },
  })
  expect(code).toBe(0)
  expect(edits).toBe(1)
  expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toBe('// mine\nconst a = 11\nconst b = 2\nconst c = 33\n')
  expect(model.results()).toEqual([expect.stringContaining('Changed src/a.js at line 4.')])
})

it('two tasks edit one file at the same time', async () => {
  const file = prompt('write_mode = true\ntools = ["edit"]\nworking_globs = ["tasks/*"]\ninput_concurrency = 2')
  const edits = ['1', '2'].map((number) =>
    callsTools(['edit', { path: 'list.txt', old_text: `${number}\n`, new_text: `${number} done\n` }]),
  )
  const { folder, run } = await world([...edits, { text: 'Done.' }, { text: 'Done.' }], {
    'ask.md': file,
    'tasks/1': '1',
    'tasks/2': '2',
    'list.txt': '1\n2\n3\n',
  })
  expect((await run(['ask.md'])).code).toBe(0)
  expect(readFileSync(join(folder, 'list.txt'), 'utf8')).toBe('1 done\n2 done\n3\n')
})

it('a run that is killed during its calls is resumed: nothing is done twice, and undo reverts everything', async () => {
  const calls = [
    callsTools(['edit', { path: 'src/a.js', old_text: 'a = 1', new_text: 'a = 1, a1 = 1' }]),
    callsTools(
      ['write', { path: 'new.txt', content: 'new\n' }],
      ['edit', { path: 'src/a.js', old_text: 'b', new_text: 'bb' }],
    ),
    callsTools(['write', { path: 'src/a.js', content: 'last\n' }]),
    { text: 'Done.' },
  ]
  const { model, folder, run, look } = await world(calls, { 'ask.md': writing, 'src/a.js': source })
  const before = look()
  let isKilled = false
  const first = await run(['ask.md', '--json'], {
    onOutput(stdout, kill) {
      if (isKilled || !stdout.includes('"path":"new.txt"')) return
      isKilled = true
      kill('SIGKILL')
    },
  })
  expect(first.code).toBeNull()
  const runId = jsonLines(first.stdout)[0]?.['run_id'] as string
  const resumed = await run(['resume', runId])
  expect(resumed).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toBe('last\n')
  expect(model.results()).toEqual(['Replaced src/a.js, which now has 1 line.'])
  const replayed = await run(['run', 'ask.md', '--replay', runId])
  expect(replayed).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(scratchOf(replayed)).toEqual({ 'new.txt': 'new\n', 'src/a.js': 'last\n' })
  expect((await run(['undo', runId])).code).toBe(0)
  expect(look()).toEqual(before)
})

/** The files of a replay, which must all match those of the recorded run. */
function scratchOf({ stderr }: BatonResult): { readonly [path: string]: string } {
  expect(stderr).not.toContain('different from the recorded run')
  const [, folder = '', names = ''] = /files written to (.+?): (.+)\n/.exec(stderr) ?? []
  const files = names.split(', ').map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const)
  rmSync(folder, { recursive: true })
  return Object.fromEntries(files)
}

it('a replay has the files that tools changed, as they were then: of a run and of a cassette, elsewhere too', async () => {
  const secret = 'sk-example-0123456789abcdef'
  const long = 'one line of many\n'.repeat(20_000)
  const calls = [
    callsTools(['read', { path: 'src/a.js' }]),
    callsTools(['edit', { path: 'src/a.js', old_text: 'a = 1', new_text: `a = '${secret}'` }]),
    callsTools(['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 3' }], ['read', { path: 'src/a.js' }]),
    callsTools(['edit', { path: 'src/long.txt', old_text: 'x y', new_text: 'first' }]),
    { text: 'Done.' },
  ]
  const keys = 'write_mode = true\ntools = ["read", "edit"]'
  const files = { 'ask.md': prompt(keys), 'src/a.js': source, 'src/long.txt': `x y\n${long}` }
  const { folder, run } = await world(calls, files)
  const env = { EXAMPLE_API_KEY: secret }
  const made = { 'src/a.js': `const a = '${secret}'\nconst b = 3\nconst c = 3\n`, 'src/long.txt': `first\n${long}` }
  const first = await run(['ask.md', '--record', 'c.cassette', '--json'], { env })
  expect(first.code).toBe(0)
  const runId = jsonLines(first.stdout)[0]?.['run_id'] as string
  expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toBe(made['src/a.js'])
  const cassette = readFileSync(join(folder, 'c.cassette'), 'utf8')
  expect(cassette).not.toContain(secret)
  // neither the earlier files nor those that the run created are needed
  for (const path of Object.keys(made)) rmSync(join(folder, path))
  expect(scratchOf(await run(['run', 'ask.md', '--replay', runId], { env }))).toEqual(made)
  const elsewhere = await world([], { 'ask.md': prompt(keys), 'c.cassette': cassette })
  expect(scratchOf(await elsewhere.run(['ask.md', '--replay', 'c.cassette'], { env }))).toEqual(made)
  // without the secret, the file that contains it cannot be reproduced
  const unlike = await elsewhere.run(['ask.md', '--replay', 'c.cassette'])
  expect(unlike.stderr).toContain('different from the recorded run: src/a.js')
})

describe('plan mode', () => {
  const planning = prompt(
    'write_mode = true\ntools = ["write", "edit", "enter_plan", "exit_plan"]\ncontext_globs = ["src/*"]',
  )
  const calls = [
    callsTools(['enter_plan', {}]),
    callsTools(
      ['edit', { path: 'src/a.js', old_text: 'a = 1', new_text: 'a = 2' }],
      ['write', { path: 'plan.md', content: '# Plan\n' }],
    ),
    callsTools(['exit_plan', {}]),
    callsTools(['edit', { path: 'src/a.js', old_text: 'b = 2', new_text: 'b = 22' }]),
    { text: 'Done.' },
  ]
  const results = (model: ToolModel): readonly string[] =>
    (model.requests.at(-1)?.body?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [content] : []))

  it('asks for an approval of the plan, which auto_approve_plan_mode gives automatically (R19)', async () => {
    const files = { 'ask.md': planning, 'src/a.js': source }
    const alone = await world(calls, files)
    expect(await alone.run(['ask.md'])).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(results(alone.model)).toEqual([
      expect.stringContaining('Plan mode is on.'),
      expect.stringContaining('Error: plan mode is on'),
      'Created plan.md, 1 line.',
      expect.stringContaining('Error: permission denied'),
      expect.stringContaining('Error: plan mode is on'),
    ])
    expect(readFileSync(join(alone.folder, 'src/a.js'), 'utf8')).toBe(source)

    const approving = {
      ...files,
      'ask.md': planning.replace('write_mode', 'auto_approve_plan_mode = true\nwrite_mode'),
    }
    const approved = await world(calls, approving)
    expect(await approved.run(['ask.md'])).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(results(approved.model).slice(3)).toEqual([
      expect.stringContaining('The plan in plan.md is approved'),
      expect.stringContaining('Changed src/a.js at line 2.'),
    ])
    const denied = await world(calls, approving, '[permission]\nexit_plan = "ask"\n')
    await denied.run(['ask.md'])
    expect(results(denied.model)[3]).toContain('permission denied')
  })

  it('continues after a run that waited for the approval, and tells the model why a plan was rejected', async () => {
    const more = [...calls.slice(0, 3), callsTools(['exit_plan', {}]), ...calls.slice(3)]
    const { model, folder, run } = await world(more, { 'ask.md': planning, 'src/a.js': source })
    const waiting = await run(['ask.md', '--on-ask', 'suspend'])
    expect(waiting).toMatchObject({ code: 5, stderr: expect.stringContaining('exit_plan') })
    expect(waiting.stderr).toContain('+# Plan')
    const rejected = await run(['reject', '--reason', 'use two steps', '--on-ask', 'suspend'])
    expect(rejected.code).toBe(5)
    expect(results(model).at(-1)).toContain('rejected by the user: use two steps')
    expect(await run(['approve'])).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(results(model).slice(-2)).toEqual([
      expect.stringContaining('The plan in plan.md is approved'),
      expect.stringContaining('Changed src/a.js at line 2.'),
    ])
    expect(readFileSync(join(folder, 'src/a.js'), 'utf8')).toContain('b = 22')
  })
})
