import { textIn } from '../helpers/messages.ts'
import { textOf } from '../../src/event/message.ts'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/model/provider.ts'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'
import { type PromptOutcome, runPrompt } from '../../src/run/prompt-run.ts'
import { agentWorld, loadPromptFile } from '../helpers/agents.ts'
import type { TestContext } from '../helpers/context.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../src/run/strategy.ts'

interface Ran {
  readonly outcome: PromptOutcome
  readonly delivered: readonly TaskOutcome[]
  readonly requests: readonly ModelRequest[]
  readonly context: TestContext
}

interface Options {
  readonly files?: { readonly [path: string]: string }
  readonly inputs?: readonly string[]
  readonly answer?: (request: ModelRequest) => FakeTurn
  readonly delivered?: TaskOutcome[]
  readonly overrides?: readonly string[]
}

function echo(request: ModelRequest): FakeTurn {
  return { text: [`<${textIn(request.messages.at(-1))}>`] }
}

async function runFile(
  prompt: string,
  { files = {}, inputs = [], answer = echo, delivered = [], overrides = [] }: Options = {},
): Promise<Ran> {
  const provider = createFakeProvider(answer)
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', 'ask.md': prompt, ...files }, { provider })
  const target = await loadPromptFile('ask.md', folder, { overrides })
  const outcome = await runPrompt({ strategies, target, inputs, onOutcome: (task) => delivered.push(task) }, context)
  return { outcome, delivered, requests: provider.requests, context }
}

function contents(tasks: readonly TaskOutcome[]): readonly string[] {
  return tasks.map((task) => (task.status === 'done' ? task.content : task.status))
}

describe('a prompt file', () => {
  it('has one task named after the file if it has no inputs or groups', async () => {
    const { delivered } = await runFile('Hi\n')
    expect(delivered).toMatchObject([{ index: 0, label: 'ask.md', content: '<Hi>' }])
  })

  it('has one task for each working file of a glob, and one for a list of globs', async () => {
    const files = { 'a.txt': 'A', 'b.txt': 'B', 'c.md': 'C' }
    const { delivered, requests } = await runFile(
      '+++\nworking_globs = ["*.txt", ["*.txt", "c.md"]]\ncontext_globs = ["*.txt"]\ninput_concurrency = 1\n+++\nHi\n',
      { files },
    )
    expect(delivered.map(({ label }) => label)).toEqual(['a.txt', 'b.txt', 'a.txt +2'])
    const [first = ''] = requests.map(({ messages }) => messages.map(textOf).join('\n'))
    expect(first.match(/<file path="[\w.]+"/g)).toEqual(['<file path="b.txt"', '<file path="a.txt"'])
  })

  it('refuses inputs together with working globs', async () => {
    await expect(runFile('+++\nworking_globs = ["*.md"]\n+++\nHi\n', { inputs: ['x'] })).rejects.toMatchObject({
      code: 'USAGE',
    })
  })

  it('skips the run when working globs match nothing', async () => {
    expect((await runFile('+++\nworking_globs = ["*.none"]\n+++\nHi\n')).outcome).toMatchObject({
      status: 'skipped',
      reason: 'working_globs matches no file',
    })
  })

  it('names the globs of the command line, not the file, when those match nothing', async () => {
    const overrides = ['working_globs=["src/*.none"]']
    expect((await runFile('Hi\n', { overrides })).outcome).toMatchObject({
      reason: 'no file matches the command line: src/*.none',
      hint: expect.stringContaining('current folder') as string,
    })
  })

  it('returns results in input order, whichever ends first', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const { delivered } = await runFile('+++\nsub_agents = [{ name = "p.lua", stage = "pre_task" }]\n+++\nHi\n', {
      files: { 'p.lua': 'return { coder_prompt = input.input }' },
      inputs: ['slow', 'fast'],
      answer: (request) => {
        if (textIn(request.messages.at(-1)) === 'slow') return { text: ['slow'], gate }
        setTimeout(release, 20)
        return { text: ['fast'] }
      },
    })
    expect(contents(delivered)).toEqual(['slow', 'fast'])
  })

  it('runs at most input_concurrency tasks at once', async () => {
    let open = 0
    let most = 0
    const inputs = Array.from({ length: 9 }, (_, n) => String(n))
    await runFile('+++\ninput_concurrency = 3\n+++\nHi\n', {
      inputs,
      answer: () => {
        open += 1
        most = Math.max(most, open)
        return {
          text: ['x'],
          gate: new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => void (open -= 1)),
        }
      },
    })
    expect(most).toBe(3)
  })
})

describe('an empty instruction (R255, TV31)', () => {
  it.each([
    ['the file has none', '+++\nmodel = "m"\n+++\n', {}],
    [
      'the chain returns no segments',
      '+++\nsub_agents = ["e.lua"]\n+++\nHi\n',
      { 'e.lua': 'return { coder_prompts = {} }' },
    ],
  ])('skips the run when %s', async (_, prompt, files) => {
    const { outcome, requests } = await runFile(prompt, { files })
    expect(outcome).toMatchObject({
      status: 'skipped',
      reason: 'the instruction is empty',
      hint: expect.stringContaining('ask.md'),
    })
    expect(requests).toEqual([])
  })

  it('skips the only task if its pre_task agents leave none', async () => {
    const files = { 'e.lua': 'if input.input == "b" then return { coder_prompts = {} } end' }
    const { delivered } = await runFile('+++\nsub_agents = [{ name = "e.lua", stage = "pre_task" }]\n+++\nHi\n', {
      files,
      inputs: ['a', 'b', 'c'],
    })
    expect(contents(delivered)).toEqual(['<Hi>', 'skipped', '<Hi>'])
  })
})

describe('After All and Output of a sub-agent (TV31)', () => {
  it.each([
    ['{ coder_prompts = { "X" } }', '<X>'],
    ['nil', '<Y>'],
  ])('use After All %s', async (afterAll, answer) => {
    const agent = `# Output\n\n\`\`\`lua\nreturn { coder_prompts = { "Y" } }\n\`\`\`\n\n# After All\n\n\`\`\`lua\nreturn ${afterAll}\n\`\`\`\n`
    const { delivered } = await runFile('+++\nsub_agents = ["a.aip"]\n+++\nHi\n', { files: { 'a.aip': agent } })
    expect(contents(delivered)).toEqual([answer])
  })
})

describe('changes by a chain', () => {
  it('affect the request of all tasks in pre and of one in pre_task', async () => {
    const files = {
      'pre.lua': 'return { coder_params_patch = { model = "from-pre", temperature = 0.1 } }',
      'each.lua': 'if input.input == "b" then return { coder_params_patch = { model = "from-task" } } end',
    }
    const { requests } = await runFile(
      '+++\nmodel = "m"\ninput_concurrency = 1\nsub_agents = ["pre.lua", { name = "each.lua", stage = "pre_task" }]\n+++\nHi\n',
      { files, inputs: ['a', 'b', 'c'] },
    )
    expect(requests.map(({ model, temperature }) => [model, temperature])).toEqual([
      ['from-pre', 0.1],
      ['from-task', 0.1],
      ['from-pre', 0.1],
    ])
  })

  it('apply to globs, whose files are searched again', async () => {
    const files = {
      'pre.lua': 'return { coder_params_patch = { context_globs = { "b.txt" } } }',
      'a.txt': 'A',
      'b.txt': 'B',
    }
    const { requests } = await runFile('+++\ncontext_globs = ["a.txt"]\nsub_agents = ["pre.lua"]\n+++\nHi\n', { files })
    expect(textIn(requests[0]?.messages[1])).toContain('<file path="b.txt" lines="1">\nB\n</file>')
    expect(textIn(requests[0]?.messages[1])).not.toContain('a.txt')
  })

  it('may not lead globs out of base_dir', async () => {
    const files = { 'pre.lua': 'return { coder_params_patch = { context_globs = { "../*.txt" } } }', 'src/a.txt': 'A' }
    await expect(runFile('+++\nbase_dir = "src"\nsub_agents = ["pre.lua"]\n+++\nHi\n', { files })).rejects.toThrow(
      /^Sub-agent \[pre\.lua\] returned invalid coder_params: .*\.\.\/\*\.txt/,
    )
  })
})

describe('files of a request', () => {
  it('are ordered: system, knowledge, structure, context, instruction', async () => {
    const files = { 'k.md': 'K', 'c.txt': 'C' }
    const { requests } = await runFile(
      '+++\nknowledge_globs = ["k.md"]\nstructure_globs = ["*.txt", "*.md"]\ncontext_globs = ["c.txt"]\n+++\nHi\n',
      { files },
    )
    const [system, ...rest] = requests[0]?.messages ?? []
    expect(system?.role).toBe('system')
    expect(rest.map((message) => textOf(message).split('\n')[0])).toEqual([
      '# Knowledge to follow',
      '# Structure of the project (paths only)',
      '# Files for context',
      'Hi',
    ])
    expect(textIn(rest[1])).toContain('- c.txt\n- ask.md\n- k.md')
  })

  it('that are named but missing are reported before the call, which is not made if nothing else matches', async () => {
    const files = { 'src/token.ts': 'T' }
    const { requests, context } = await runFile(
      '+++\ncontext_globs = ["src/*.ts", "src/tokn.ts", "none/*.md"]\n+++\nHi\n',
      {
        files,
      },
    )
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'context_globs: there is no file src/tokn.ts', hint: 'Did you mean src/token.ts?' },
    ])
    expect(requests).toHaveLength(1)
    for (const key of ['context_globs', 'knowledge_globs', 'structure_globs', 'working_globs']) {
      const ran = runFile(`+++\n${key} = ["src/tokn.ts"]\n+++\nHi\n`, { files })
      await expect(ran, key).rejects.toMatchObject({ code: 'FILE_UNREADABLE', message: 'there is no file src/tokn.ts' })
    }
    const folder = runFile('+++\ncontext_globs = ["src"]\n+++\nHi\n', { files })
    await expect(folder).rejects.toMatchObject({
      message: 'src is a folder',
      hint: 'Write src/** for the files in it.',
    })
  })

  it('that are missing working files are reported, as an error if the command line names them', async () => {
    const files = { 'a.txt': 'A' }
    const own = await runFile('+++\nworking_globs = ["a.txt", "b.txt"]\n+++\nHi\n', { files })
    expect(own.delivered).toHaveLength(1)
    expect(own.context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'working_globs: there is no file b.txt' },
    ])
    const given = runFile('Hi\n', { files, overrides: ['working_globs=["**/a.txt", "**/b.txt"]'] })
    await expect(given).rejects.toMatchObject({ code: 'FILE_UNREADABLE', message: 'there is no file b.txt' })
  })

  it('are skipped with a warning if they are binary', async () => {
    const { requests, context } = await runFile('+++\ncontext_globs = ["*.bin", "c.txt"]\n+++\nHi\n', {
      files: { 'x.bin': 'a\u0000b', 'c.txt': 'C' },
    })
    expect(textIn(requests[0]?.messages[1])).not.toContain('x.bin')
    expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
      { message: 'left out of the prompt, not text: x.bin' },
    ])
  })

  it('include working files', async () => {
    const ran = runFile('+++\nworking_globs = ["*.txt"]\nmax_files_size_kb = 1\n+++\nHi\n', {
      files: { 'a.txt': 'x'.repeat(2500) },
    })
    await expect(ran).rejects.toMatchObject({ code: 'LIMIT' })
  })

  it('that are too large stop the run before the model is asked', async () => {
    const ran = runFile('+++\ncontext_globs = ["*.txt"]\nmax_files_size_kb = 1\n+++\nHi\n', {
      files: { 'a.txt': 'x'.repeat(2500) },
    })
    await expect(ran).rejects.toMatchObject({
      code: 'LIMIT',
      message: 'the files of this request have 3 kB, more than max_files_size_kb = 1',
      hint: expect.stringContaining('a.txt (3 kB)'),
    })
  })
})

describe('failing tasks', () => {
  const failing =
    '+++\ninput_concurrency = 1\nFLAG\nsub_agents = [{ name = "f.lua", stage = "pre_task" }, { name = "post.lua", stage = "post" }]\n+++\nHi\n'
  const files = {
    'f.lua': 'if input.input == "b" then return { success = false, error_msg = "no b" } end',
    'post.lua':
      'local r = {}\nfor i, x in ipairs(input.coder_responses) do r[i] = x.error or x.content end\nreturn { agent_result = r }',
  }

  it('fail the run, and post does not run', async () => {
    await expect(runFile(failing.replace('FLAG\n', ''), { files, inputs: ['a', 'b', 'c'] })).rejects.toThrow(
      'Sub-agent [f.lua] failed: no b',
    )
  })

  it('are results if the file allows it, and post sees them', async () => {
    const { outcome, delivered } = await runFile(failing.replace('FLAG', 'allow_run_on_task_fail = true'), {
      files,
      inputs: ['a', 'b', 'c'],
    })
    expect(contents(delivered)).toEqual(['<Hi>', 'failed', '<Hi>'])
    expect(outcome).toMatchObject({ agentResult: ['<Hi>', 'Sub-agent [f.lua] failed: no b', '<Hi>'] })
  })

  it('are recorded with their input and error', async () => {
    const { context } = await runFile(failing.replace('FLAG', 'allow_run_on_task_fail = true'), {
      files,
      inputs: ['a', 'b'],
    })
    const tasks = context.records.filter((record) => 'p' in record && /^task\/\d$/.test(record.p))
    expect(tasks.filter(({ k }) => k === 'begin')).toMatchObject([{ label: 'a' }, { label: 'b' }])
    expect(tasks.filter(({ k }) => k === 'failed')).toMatchObject([
      { p: 'task/1', error: { code: 'AGENT_FAILED', message: 'Sub-agent [f.lua] failed: no b' } },
    ])
  })

  it('do not discard a finished answer, even if a post agent fails', async () => {
    const delivered: TaskOutcome[] = []
    const post = { 'post.lua': 'error("boom")' }
    const ran = runFile('+++\nsub_agents = [{ name = "post.lua", stage = "post" }]\n+++\nHi\n', {
      files: post,
      inputs: ['a', 'b'],
      delivered,
    })
    await expect(ran).rejects.toThrow('boom')
    expect(contents(delivered)).toEqual(['<Hi>', '<Hi>'])
  })

  it('abort the others', async () => {
    const ran = runFile(
      '+++\ninput_concurrency = 2\nsub_agents = [{ name = "f.lua", stage = "pre_task" }]\n+++\nHi\n',
      {
        files,
        inputs: ['a', 'b'],
        answer: () => ({ text: ['x'], gate: new Promise<void>(() => {}) }),
      },
    )
    await expect(ran).rejects.toThrow('no b')
  })
})

describe('redo', () => {
  it('starts from the front matter again and returns only the last round', async () => {
    const files = {
      'pre.lua': 'return { coder_prompt = input.coder_prompt .. input.coder_redo_count }',
      'post.lua': 'return { coder_redo = input.coder_redo_count < 2 }',
    }
    const { delivered, requests, context } = await runFile(
      '+++\nsub_agents = ["pre.lua", { name = "post.lua", stage = "post" }]\n+++\nHi\n',
      { files },
    )
    expect(requests).toHaveLength(3)
    expect(contents(delivered)).toEqual(['<Hi2>'])
    expect(
      context.sent.filter(({ type }) => type === 'redo').map((event) => (event as { count: number }).count),
    ).toEqual([1, 2])
    expect(context.records.flatMap((record) => (record.k === 'started' ? [record.p] : []))).toEqual([
      'task/0/agent/ask/turn/0#0',
      'redo/1/task/0/agent/ask/turn/0#0',
      'redo/2/task/0/agent/ask/turn/0#0',
    ])
  })

  it('stops after 20 rounds', async () => {
    const ran = runFile('+++\nsub_agents = [{ name = "post.lua", stage = "post" }]\n+++\nHi\n', {
      files: { 'post.lua': 'return { coder_redo = true }' },
    })
    await expect(ran).rejects.toMatchObject({
      code: 'LIMIT',
      message: 'the run was asked to redo itself more than 20 times',
    })
  })
})
