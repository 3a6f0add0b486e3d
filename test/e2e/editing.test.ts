import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines, snapshot } from '../helpers/baton.ts'
import { type ModelServer, type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly folder: string
  readonly server: ModelServer
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  readonly read: (path: string) => string
}

async function world(files: { readonly [path: string]: string }, script: ModelScript): Promise<World> {
  const folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({}) }
  return {
    folder,
    server,
    run: (...args) => baton(args, { cwd: folder, env }),
    read: (path) => readFileSync(join(folder, path), 'utf8'),
  }
}

const front = (more = ''): string => `+++
model = "coder"
write_mode = true
context_globs = ["src/**"]
${more}+++
Greet in French.
`

const patch = `I changed the greeting.

<FILE_CHANGES>
<FILE_PATCH file_path="src/a.js">
@@
-const text = 'hello'
+const text = 'bonjour'
</FILE_PATCH>
<FILE_NEW file_path="docs/new.md">
# New
</FILE_NEW>
</FILE_CHANGES>

Done.`

const source = "const text = 'hello'\nconsole.log(text)\n"

describe('the changes of an answer', () => {
  it('are applied, and the answer is printed without them', async () => {
    const { run, read, server } = await world({ 'ask.md': front(), 'src/a.js': source }, [{ text: patch }])
    const { code, stdout, stderr } = await run('ask.md')
    expect(code).toBe(0)
    expect(stdout).toBe('I changed the greeting.\n\nDone.\n')
    expect(read('src/a.js')).toBe("const text = 'bonjour'\nconsole.log(text)\n")
    expect(read('docs/new.md')).toBe('# New\n')
    expect(stderr).toContain('patch    src/a.js')
    expect(stderr).toContain('new      docs/new.md')
    expect(server.requests[0]?.body?.messages[0]?.content).toContain('FILE_CHANGES')
  })

  it('are ignored without write_mode, and no model is told how to make them', async () => {
    const ask = front().replace('write_mode = true\n', '')
    const { run, folder, server } = await world({ 'ask.md': ask, 'src/a.js': source }, [{ text: patch }])
    const before = snapshot(folder)
    const { code, stdout } = await run('ask.md')
    expect(code).toBe(0)
    expect(stdout).toContain('<FILE_PATCH')
    expect(snapshot(folder)).toEqual(before)
    expect(server.requests[0]?.body?.messages[0]?.content).not.toContain('FILE_CHANGES')
  })

  it('are all omitted when one of them cannot be applied, and the run fails', async () => {
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const { run, folder } = await world({ 'ask.md': front(), 'src/a.js': source }, () => ({ text: wrong }))
    const before = snapshot(folder)
    const { code, stdout, stderr } = await run('ask.md')
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain("the answer's file changes were not applied: src/a.js:")
    expect(stderr).toContain('Nothing of this answer was applied.')
    expect(stderr).toContain('@@ does not match src/a.js\n-const nothing = like_it()\n')
    expect(stderr).toMatch(/^resume: baton resume \S+ {2}# asks for a new answer$/m)
    expect(snapshot(folder)).toEqual(before)
  })

  it('are applied as far as possible with partial', async () => {
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const files = { 'ask.md': front('partial = true\n'), 'src/a.js': source }
    const { run, read, folder } = await world(files, () => ({ text: wrong }))
    const { code, stdout, stderr } = await run('ask.md')
    expect([code, stdout]).toEqual([1, 'I changed the greeting.\n\nDone.\n'])
    expect(read('src/a.js')).toBe(source)
    expect(read('docs/new.md')).toBe('# New\n')
    expect(stderr).toContain('failed   src/a.js: 1 of 1 hunks failed')
    expect(stderr).toContain('error: a file change was left out: src/a.js\n')
    // a resume would end the same way
    expect(stderr).not.toContain('baton resume')

    rmSync(join(folder, 'docs/new.md'))
    const again = await run('ask.md', '-q', '-c', 'changes.partial_is_success=true')
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('failed   src/a.js')])
  })

  it.each([
    ['a sub-agent', 'ask.md', { 'ask.md': front('sub_agents = [{ name = "edit.md", stage = "post" }]\n') }],
    ['the agent that answers', 'ask.md', { 'ask.md': front('agent = "edit.md"\n') }],
    ['what a script calls', 'ask.lua', { 'ask.lua': 'aip.agent.run("edit.md")\nreturn "fine"\n' }],
  ])('are omitted with partial by %s, and the calling run ends with 1', async (_, target, files) => {
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const answer: ModelScript = ({ body }) => ({ text: /Edit it/.test(JSON.stringify(body)) ? wrong : 'Fine.' })
    const edit = (more: string): string => front(`partial = true\n${more}`).replace('Greet in French', 'Edit it')
    const { run, read } = await world({ 'src/a.js': source, ...files, 'edit.md': edit('') }, answer)
    const { code, stderr } = await run(target, '-q')
    expect([code, stderr]).toEqual([1, expect.stringContaining('error: a file change was left out: src/a.js\n')])
    expect(read('docs/new.md')).toBe('# New\n')

    const success = edit('changes = { partial_is_success = true }\n')
    const other = await world({ 'src/a.js': source, ...files, 'edit.md': success }, answer)
    expect((await other.run(target, '-q')).code).toBe(0)
  })

  it.each([
    ['a plain answer', '', 'Bonjour.'],
    ['file changes', 'write_mode = true\n', patch],
    ['an answer of [output]', 'output = { schema = { type = "object" } }\n', '{"text":"Bonjour."}'],
  ])('and the thoughts of the model before %s are passed to post_task agents', async (_, keys, text) => {
    const files = {
      'ask.md': `+++\nmodel = "m"\ncontext_globs = ["src/*"]\nsub_agents = [{ name = "think.lua", stage = "post_task" }]\n${keys}+++\nGreet.\n`,
      'think.lua': 'aip.file.save("thought.txt", input.ai_response.reasoning_content)',
      'src/a.js': source,
    }
    const { run, read } = await world(files, [{ reasoning: ['They are', ' French.'], text }])
    const { code, stderr } = await run('ask.md', '-q')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
    expect(read('thought.txt')).toBe('They are French.')
  })

  it('that were omitted before a run was stopped are omitted when it is resumed', async () => {
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const files = { 'ask.md': front('template = true\npartial = true\ninput_concurrency = 1\n'), 'src/a.js': source }
    const { run, server } = await world(files, (_, index) =>
      index === 2 ? { status: 401, body: '{}' } : { text: index < 2 ? wrong : 'Fine.' },
    )
    const first = await run('ask.md', '-i', 'first', '-i', 'second')
    expect(first.stderr).toContain('baton resume')
    const count = server.requests.length
    const second = await run('resume', 'last')
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('a file change was left out: src/a.js\n')])
    expect(server.requests.length).toBe(count + 1)
  })

  it('are shown by --dry changes, with those of scripts, and nothing is written', async () => {
    const files = {
      'ask.md': front('sub_agents = ["write.lua", { name = "after.lua", stage = "post_task" }]\n'),
      'write.lua': 'aip.file.save("out.txt", "x")\nreturn nil',
      'after.lua': 'print("came behind")',
      'src/a.js': source,
    }
    const { run, folder } = await world(files, () => ({ text: patch }))
    const before = snapshot(folder)
    const { code, stdout, stderr } = await run('ask.md', '--dry', 'changes')
    expect([code, snapshot(folder)]).toEqual([0, before])
    expect(stdout).toMatch(/^diff --git a\/src\/a.js b\/src\/a.js\n/)
    expect(stdout).toContain("-const text = 'hello'\n+const text = 'bonjour'\n")
    expect(stderr).toContain('not done in a dry run, and not previewed: write out.txt')
    expect(stderr).not.toContain('came behind')
    // git accepts it
    const applied = spawnSync('git', ['apply', '-'], { cwd: folder, input: stdout, encoding: 'utf8' })
    expect(applied.stderr).toBe('')
    expect(snapshot(folder)).toMatchObject({ 'docs/new.md': '# New\n' })
  })

  it('are planned by --dry changes on top of each other, also in a resumed run', async () => {
    const files = {
      'ask.md': front('template = true\ninput_concurrency = 1\nchanges.repair = 0\n'),
      'src/a.js': source,
    }
    const hunk = (from: string, to: string): string =>
      `<FILE_CHANGES>\n<FILE_PATCH file_path="src/a.js">\n@@\n-const text = '${from}'\n+const text = '${to}'\n</FILE_PATCH>\n</FILE_CHANGES>`
    const rename = '<FILE_CHANGES>\n<FILE_RENAME from_path="src/a.js" to_path="src/b.js" />\n</FILE_CHANGES>'
    const replies = [patch, hunk('hello', 'ciao'), hunk('bonjour', 'salut'), rename, hunk('salut', 'x')]
    const { run, server, folder } = await world(
      files,
      replies.map((text) => ({ text })),
    )
    const before = snapshot(folder)
    const inputs = ['1', '2', '3', '4'].flatMap((input) => ['-i', input])
    const first = await run('ask.md', '--dry', 'changes', ...inputs)
    expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('hunks failed')])
    expect(JSON.stringify(server.requests[1]?.body)).toContain("const text = 'bonjour'")
    const second = await run('resume', 'last')
    expect(server.requests).toHaveLength(5)
    expect(JSON.stringify(server.requests[2]?.body)).toContain("const text = 'bonjour'")
    expect(second.stdout).toContain("-const text = 'bonjour'\n+const text = 'salut'\n")
    expect(second.stdout).toContain('rename from src/a.js\nrename to src/b.js\n')
    // a file that would have been moved away is no longer shown
    expect(JSON.stringify(server.requests[4]?.body)).not.toContain('const text')
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('src/a.js')])
    expect(snapshot(folder)).toEqual(before)
  })

  it('that could not be applied are requested again by a resume, which pays for no finished task again', async () => {
    const files = {
      'ask.md': front('template = true\ninput_concurrency = 1\nallow_run_on_task_fail = true\n'),
      'src/a.js': source,
    }
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const { run, read, server } = await world(files, (_, index) => ({
      text: ['Fine.', wrong, wrong, patch][index] ?? '',
    }))
    const first = await run('ask.md', '-i', 'one', '-i', 'two')
    expect([first.code, read('src/a.js'), server.requests.length]).toEqual([1, source, 3])

    const { code, stdout } = await run('resume', '--last')
    expect([code, server.requests.length]).toEqual([0, 4])
    expect(stdout).toContain('Fine.')
    expect(read('src/a.js')).toContain('bonjour')
    // nothing remains of the answers that did not fit
    expect(server.requests[3]?.body?.messages).toEqual(server.requests[1]?.body?.messages)
  })

  it('cannot affect the prompt file, an agent, config or git, whatever they are called', async () => {
    const targets = [
      'ask.md',
      'baton.toml',
      '.baton/x',
      '.git/hooks/pre-commit',
      '../out.md',
      'agents/plan.lua',
      'link/x',
    ]
    for (const path of targets) {
      const text = `<FILE_CHANGES>\n<FILE_NEW file_path="${path}">\nowned\n</FILE_NEW>\n</FILE_CHANGES>`
      const files = {
        'ask.md': front('sub_agents = ["agents/plan.lua"]\n'),
        'src/a.js': source,
        'agents/plan.lua': 'return nil',
      }
      const { run, folder } = await world(files, () => ({ text }))
      symlinkSync('/tmp', join(folder, 'link'))
      const before = snapshot(folder)
      const { code, stderr } = await run('ask.md')
      expect([path, code]).toEqual([path, 1])
      expect(stderr).toContain('file changes were not applied')
      expect(snapshot(folder)).toEqual(before)
    }
  })

  it.each(['<FILE_DELETE file_path="lib" />', '<FILE_RENAME from_path="lib" to_path="moved" />'])(
    'cannot affect a repository below a folder: %s',
    async (directive) => {
      const files = { 'ask.md': front(), 'src/a.js': source, 'lib/vendor/.git/HEAD': 'x', 'lib/b.js': '' }
      const { run, folder } = await world(files, () => ({ text: `<FILE_CHANGES>\n${directive}\n</FILE_CHANGES>` }))
      const before = snapshot(folder)
      const { code, stderr } = await run('ask.md')
      expect(code).toBe(1)
      expect(stderr).toContain('lib/vendor/.git is protected: a model never changes it')
      expect(snapshot(folder)).toEqual(before)
    },
  )

  it('that match several places are reported', async () => {
    const twins = 'def a():\n    x = 1\n\ndef b():\n    x = 1\n'
    const hunk = (header: string): string =>
      `<FILE_CHANGES>\n<FILE_PATCH file_path="src/a.py">\n${header}\n-    x = 1\n+    x = 2\n</FILE_PATCH>\n</FILE_CHANGES>`
    const { run, read, folder } = await world({ 'ask.md': front(), 'src/a.py': twins }, [
      { text: hunk('@@ def b():') },
      { text: hunk('@@') },
    ])
    expect((await run('ask.md')).stderr).not.toContain('warning')
    expect(read('src/a.py')).toBe('def a():\n    x = 1\n\ndef b():\n    x = 2\n')

    writeFileSync(join(folder, 'src/a.py'), twins)
    const { code, stderr } = await run('ask.md')
    expect(code).toBe(0)
    expect(stderr).toContain('warning src/a.py: a hunk was applied at line 2, but fits at line 5 as well\n')
    expect(read('src/a.py')).toBe('def a():\n    x = 2\n\ndef b():\n    x = 1\n')
  })

  it('that create a file again which was deleted meanwhile are sent back', async () => {
    const whole = `<FILE_CHANGES>\n<FILE_NEW file_path="src/a.js">\nwhole()\n</FILE_NEW>\n</FILE_CHANGES>`
    const { run, read, folder, server } = await world({ 'ask.md': front(), 'src/a.js': source }, (_, index) => {
      if (index === 0) rmSync(join(folder, 'src/a.js'))
      return { text: whole }
    })
    const { code, stderr } = await run('ask.md')
    expect(code).toBe(0)
    expect(stderr).toContain(
      'asking the model to correct its file changes: src/a.js was deleted while the model answered',
    )
    expect(server.requests).toHaveLength(2)
    expect(server.requests[1]?.body?.messages.at(-1)?.content).toContain('src/a.js: it was deleted')
    expect(read('src/a.js')).toBe('whole()\n')
  })

  it('that replace a file which changed meanwhile are sent back with its new content', async () => {
    const whole = (text: string): string =>
      `<FILE_CHANGES>\n<FILE_NEW file_path="src/a.js">\n${text}\n</FILE_NEW>\n</FILE_CHANGES>`
    const { run, read, folder, server } = await world({ 'ask.md': front(), 'src/a.js': source }, (_, index) => {
      if (index === 0) writeFileSync(join(folder, 'src/a.js'), 'edited()\n')
      return { text: whole(index === 0 ? 'first()' : 'edited()\nsecond()') }
    })
    const { code } = await run('ask.md')
    expect(code).toBe(0)
    expect(read('src/a.js')).toBe('edited()\nsecond()\n')
    expect(server.requests).toHaveLength(2)
    const again = server.requests[1]?.body?.messages ?? []
    expect(again.map(({ role }) => role)).toEqual(['system', 'user', 'user', 'assistant', 'user'])
    expect(again.at(-1)?.content).toContain('edited()')
  })

  it.each([
    ['whole', '<AIP_FILE_CHANGE file_path="src/a.js">\n````js\nwhole()\n````\n</AIP_FILE_CHANGE>', 'whole()\n'],
    [
      'search_replace_auto',
      "<AIP_FILE_CHANGE file_path=\"src/a.js\">\n<<<<<<< SEARCH\nconst text = 'hello'\n=======\nconst text = 'hola'\n>>>>>>> REPLACE\n</AIP_FILE_CHANGE>",
      "const text = 'hola'\nconsole.log(text)\n",
    ],
  ])('have the format that file_content_mode names: %s', async (mode, text, expected) => {
    const files = { 'ask.md': front(`file_content_mode = "${mode}"\n`), 'src/a.js': source }
    const { run, read } = await world(files, [{ text: `Here.\n\n${text}\n` }])
    const { code, stdout } = await run('ask.md')
    expect(code).toBe(0)
    expect(stdout).toBe('Here.\n')
    expect(read('src/a.js')).toBe(expected)
  })

  it('are seen by post_task agents, after they were applied', async () => {
    const agent = `local change = input.file_changes[1]
return { agent_result = change.file_path .. " " .. change.kind .. " " .. aip.file.load(change.file_path).content }`
    const files = {
      'ask.md': front(
        'sub_agents = [{ name = "see.lua", stage = "post_task" }, { name = "tell.lua", stage = "post" }]\n',
      ),
      'see.lua': agent,
      'tell.lua': 'print(input.coder_responses[1].agent_result)',
      'src/a.js': source,
    }
    const { run } = await world(files, [{ text: patch }])
    const { code, stderr } = await run('ask.md')
    expect(code).toBe(0)
    expect(stderr).toContain("src/a.js Patch const text = 'bonjour'")
  })

  it('are not made when an agent takes write_mode back, and an agent cannot enable it', async () => {
    const files = {
      'ask.md': front('sub_agents = ["careful.lua"]\n'),
      'careful.lua': 'return { coder_params_patch = { write_mode = false } }',
      'greedy.lua': 'return { coder_params_patch = { write_mode = true } }',
      'greedy.md': front('sub_agents = ["greedy.lua"]\n').replace('write_mode = true\n', ''),
      'src/a.js': source,
    }
    const { run, folder } = await world(files, () => ({ text: patch }))
    const before = snapshot(folder)
    expect((await run('ask.md')).code).toBe(0)
    const { code, stderr } = await run('greedy.md')
    expect(code).toBe(1)
    expect(stderr).toContain('Sub-agent [greedy.lua] may not change "write_mode"')
    expect(snapshot(folder)).toEqual(before)
  })
})

describe('files that an answer changed are not executed in the same run', () => {
  const changed = (path: string, text: string): string =>
    `<FILE_CHANGES>\n<FILE_NEW file_path="${path}">\n${text}\n</FILE_NEW>\n</FILE_CHANGES>`

  it('as an agent of an agent', async () => {
    const files = {
      'ask.md': front('context_globs = ["agents/*"]\nsub_agents = [{ name = "s.lua", stage = "post_task" }]\n').replace(
        'context_globs = ["src/**"]\n',
        '',
      ),
      's.lua': 'return aip.agent.run("agents/o.lua", {}).outputs[1]',
      'agents/o.lua': 'return nil',
    }
    const { run, read } = await world(files, [{ text: changed('agents/o.lua', 'print("EVIL")') }])
    const { code, stderr } = await run('ask.md', '-c', 'changes.allow=["agents/*"]')
    expect(read('agents/o.lua')).toContain('EVIL')
    expect(code).toBe(6)
    expect(stderr).not.toContain('[o.lua]')
    expect(stderr).toContain('was changed by the answer of a model, so it is not executed')
  })

  it('or as the caller of the prompt file that was answered', async () => {
    const files = {
      'ask.md': '+++\nmodel = "coder"\nwrite_mode = true\nsub_agents = ["child.md"]\n+++\nDo it.\n',
      'child.md': '+++\nwrite_mode = true\ncontext_globs = ["ask.md"]\n+++\nChange it.\n',
    }
    const { run, folder } = await world(files, () => ({ text: changed('ask.md', 'owned') }))
    const before = snapshot(folder)
    const { code, stderr } = await run('ask.md')
    expect(code).toBe(1)
    expect(stderr).toContain('ask.md is protected')
    expect(snapshot(folder)).toEqual(before)
  })
})

describe('rights and secrets', () => {
  const newFile = '<FILE_CHANGES>\n<FILE_NEW file_path="n.txt">\nx\n</FILE_NEW>\n</FILE_CHANGES>'

  it('the right to write that an agent gave up is lost for prompt files after it', async () => {
    const files = {
      'ask.md': '+++\nmodel = "m"\nwrite_mode = true\nsub_agents = ["careful.lua", "child.md"]\n+++\nDo it.\n',
      'careful.lua': 'return { coder_params_patch = { write_mode = false } }',
      'child.md': '+++\nwrite_mode = true\n+++\nWrite.\n',
    }
    const { run, folder } = await world(files, () => ({ text: newFile }))
    const before = snapshot(folder)
    expect((await run('ask.md')).code).toBe(0)
    expect(snapshot(folder)).toEqual(before)
  })

  it('a file that was never shown is neither replaced nor sent', async () => {
    const text = newFile.replace('n.txt', '.env')
    const files = { 'ask.md': front(), 'src/a.js': source, '.env': 'KEY=value\n' }
    const { run, read, server } = await world(files, () => ({ text }))
    const { code, stderr } = await run('ask.md')
    expect([code, server.requests.length]).toEqual([1, 2])
    expect(JSON.stringify(server.requests)).not.toContain('KEY=value')
    expect(stderr).toContain('.env would be changed, deleted, moved or copied without having been shown')
    expect(read('.env')).toBe('KEY=value\n')
  })

  it('the prompt file is never part of its own context', async () => {
    const ask = '+++\nmodel = "m"\ncontext_globs = ["*.md"]\n+++\nRead.\n\n====\nsecret notes\n'
    const { run, server } = await world({ 'ask.md': ask, 'other.md': 'other\n' }, [{ text: 'ok' }])
    expect((await run('ask.md')).code).toBe(0)
    expect(JSON.stringify(server.requests)).toContain('other.md')
    expect(JSON.stringify(server.requests)).not.toContain('secret notes')
  })

  it.each([
    ['length', 'it was truncated at its output limit'],
    ['content_filter', 'the model stopped before its end'],
  ])('an answer that ends by %s changes nothing', async (finish, why) => {
    const { run, folder } = await world({ 'ask.md': front(), 'src/a.js': source }, [{ text: newFile, finish }])
    const before = snapshot(folder)
    const { code, stderr } = await run('ask.md')
    expect(code).toBe(1)
    expect(stderr).toContain(why)
    expect(snapshot(folder)).toEqual(before)
  })
})

describe('an agent that answers in place of the main agent', () => {
  const ask = (more: string): string => `+++\nagent = "x.lua"\n${more}\n+++\nDo it.\n\n====\n`

  it('replaces existing files, and its answer is validated against [output]', async () => {
    const changes = '<FILE_CHANGES>\n<FILE_NEW file_path="a.txt">\nnew\n</FILE_NEW>\n</FILE_CHANGES>'
    const files = {
      'ask.md': ask('write_mode = true'),
      'x.lua': `return { content = "Done.", file_changes = [[\n${changes}\n]] }`,
      'a.txt': 'old\n',
      'json.md': ask('[output]\nschema = { type = "integer" }'),
      'garbage.md': ask('write_mode = true').replace('x.lua', 'y.lua'),
      'y.lua': 'return { content = "Done.", file_changes = "garbage" }',
    }
    const { run, read } = await world(files, [])
    expect(await run('ask.md')).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(read('a.txt')).toBe('new\n')
    const garbage = await run('garbage.md')
    expect(garbage).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(garbage.stderr).toBe(
      'warning the file_changes of agent "y.lua" contain no change\n' +
        '  Write them in the format of file_content_mode = "udiffx".\n',
    )
    const { code, stderr } = await run('json.md')
    expect(code).toBe(1)
    expect(stderr).toContain('agent "x.lua" answered with a value that does not match [output]')
  })
})

describe('the transcript', () => {
  const ask = '+++\nmodel = "coder"\nsub_agents = ["say.lua"]\n+++\nGreet.\r\n\n====\n\nold answer\n'

  it('replaces the text below ====, and is never sent', async () => {
    const { run, read, server } = await world({ 'ask.md': ask, 'say.lua': 'print(input.coder_prompt)' }, [
      { text: 'Hello.', usage: { prompt_tokens: 1200, completion_tokens: 2 } },
      { text: 'Hello again.' },
    ])
    expect((await run('ask.md')).code).toBe(0)
    const [above, below] = read('ask.md').split('====\n')
    expect(above).toBe(ask.slice(0, ask.indexOf('====')))
    expect(below).toMatch(
      /^> \d{4}-\d\d-\d\dT[\d:]+[+-][\d:]+ · ask\.md · coder · 1,200 in, 2 out · unpriced · [\w-]+\n\nHello\.\n$/,
    )
    expect((await run('ask.md')).code).toBe(0)
    expect(read('ask.md')).toContain('Hello again.')
    expect(read('ask.md')).not.toContain('Hello.')
    expect(JSON.stringify(server.requests)).not.toContain('old answer')
    expect(JSON.stringify(server.requests[1])).not.toContain('Hello.')
  })

  it('has one block for each task, in input order, including failed ones', async () => {
    const files = {
      'ask.md': `+++
model = "m"
allow_run_on_task_fail = true
sub_agents = [{ name = "each.lua", stage = "pre_task" }]
+++
Say.

====
`,
      'each.lua': 'return { coder_prompts_append = "word " .. input.input }',
    }
    const { run, read } = await world(files, ({ body }) =>
      JSON.stringify(body).includes('word two')
        ? { status: 400, body: { error: { message: 'no' } } }
        : { text: 'fine' },
    )
    const { code } = await run('ask.md', '-i', 'one', '-i', 'two', '-i', 'three')
    expect(code).toBe(1)
    const blocks = read('ask.md').split('====\n').slice(1)
    expect(blocks.map((block) => block.split(' · ')[1])).toEqual(['one', 'two', 'three'])
    expect(blocks[1]).toContain('\n\nerror: m: ')
    expect(blocks[2]).toContain('\n\nfine\n')
  })

  it('has the failure of a run without an answer in place of the old answer', async () => {
    const { run, read } = await world({ 'ask.md': ask, 'say.lua': '' }, [
      { status: 401, body: { error: { message: 'no' } } },
    ])
    expect((await run('ask.md')).code).toBe(3)
    const [prompt, block] = read('ask.md').split('====\n')
    expect(prompt).toBe(ask.split('====\n')[0])
    expect(block).toMatch(/^> .* · ask\.md · .*\n\nerror: coder: .* refused the key \(status 401\): no\n$/)
  })

  it('keeps an answer whose changes could not be applied', async () => {
    const wrong = patch.replace("-const text = 'hello'", '-const nothing = like_it()')
    const { run, read } = await world({ 'ask.md': `${front()}\n====\n`, 'src/a.js': source }, () => ({ text: wrong }))
    expect((await run('ask.md')).code).toBe(1)
    expect(read('ask.md')).toContain('error: the answer')
    expect(read('ask.md')).toContain('like_it()')
  })

  it('keeps an answer whose post_task agent failed', async () => {
    const files = {
      'ask.md': '+++\nmodel = "m"\nsub_agents = [{ name = "bad.lua", stage = "post_task" }]\n+++\nSay.\n\n====\n',
      'bad.lua': 'error("no")',
    }
    const { run, read } = await world(files, [{ text: 'A paid answer.' }])
    expect((await run('ask.md')).code).toBe(1)
    expect(read('ask.md')).toContain('\nA paid answer.\n')
  })

  it('keeps text that was written above it meanwhile, and reports a missing line', async () => {
    const { run, read, folder } = await world({ 'ask.md': ask, 'say.lua': '' }, (_, index) => {
      const text = readFileSync(join(folder, 'ask.md'), 'utf8')
      writeFileSync(join(folder, 'ask.md'), index === 0 ? `${text.replace('Greet.', 'Greet them.')}` : 'Only this.\n')
      return { text: 'Hi.' }
    })
    expect((await run('ask.md')).code).toBe(0)
    expect(read('ask.md')).toContain('Greet them.')
    expect(read('ask.md')).toContain('\nHi.\n')
    const { code, stdout, stderr } = await run('ask.md')
    expect([code, stdout]).toEqual([0, 'Hi.\n'])
    expect(stderr).toContain('its ==== line was removed')
    expect(read('ask.md')).toBe('Only this.\n')
  })
})

it('reports the changes in events', async () => {
  const { run } = await world({ 'ask.md': front(), 'src/a.js': source }, [{ text: patch }])
  const events = jsonLines((await run('ask.md', '--json')).stdout)
  const applied = events.find(({ type }) => type === 'changes.applied')
  expect(applied?.['items']).toEqual([
    { file_path: 'src/a.js', kind: 'Patch', success: true },
    { file_path: 'docs/new.md', kind: 'New', success: true },
  ])
  const changed = events.filter(({ type }) => type === 'file.changed')
  expect(changed.map(({ op, path }) => [op, path])).toEqual([
    ['write', 'src/a.js'],
    ['write', 'docs/new.md'],
  ])
})
