import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

async function world(files: { readonly [path: string]: string }, answer: (text: string) => ModelReply) {
  const folder = tempTree({ '.git/HEAD': 'x', ...files })
  const made = await startModelServer(({ body }) => answer(JSON.stringify(body?.messages)))
  server = made
  const env = { BATON_HOME: join(folder, '.home'), BATON_GATEWAY_URL: made.url }
  return { folder, requests: made.requests, run: (args: readonly string[]) => baton(args, { cwd: folder, env }) }
}

const config = '[agents.short]\ninstructions = "Be short."\nmodel = "small"\n[retry]\nmax_attempts = 1\n'

describe('a named agent', () => {
  it('is a sub-agent, the agent of a step, run by a script, and answers in place of the model', async () => {
    const answers = (text: string): ModelReply => ({ text: text.includes('Be short.') ? 'short' : 'long' })
    const { run, requests } = await world(
      {
        'baton.toml': config,
        'agents/long.md': '+++\nmodel = "large"\n+++\nBe long.\n',
        'chain.md':
          '+++\nmodel = "m"\nsub_agents = ["short", "long", "own"]\n[agents.own]\nmodel = "own"\ninstructions = "Hi."\n+++\nSay.\n',
        'flow.md':
          '+++\n[[workflow.step]]\nid = "a"\nagent = "long"\n[[workflow.step]]\nid = "b"\nagent = "Plan"\nneeds = ["a"]\n+++\nSay.\n',
        'script.lua': 'return aip.agent.run("short", { input = "x" }).outputs[1]\n',
        'answer.md': '+++\nagent = "short"\n+++\nSay.\n',
      },
      answers,
    )
    const models = (): readonly unknown[] => requests.map(({ body }) => body?.model)
    expect(await run(['chain.md', '-q'])).toMatchObject({ code: 0, stdout: 'long\n', stderr: '' })
    expect(models()).toEqual(['small', 'large', 'own', 'm'])
    const flow = await run(['flow.md', '-q', '-c', 'model=planner'])
    expect([flow.stderr, flow.code]).toEqual(['', 0])
    expect(models().slice(4)).toEqual(['large', 'planner'])
    expect(await run(['script.lua', '-q'])).toMatchObject({ code: 0, stdout: 'short\n' })
    expect(await run(['answer.md', '-q'])).toMatchObject({ code: 0, stdout: 'short\n' })
    expect(await run(['short', '-q', '-i', 'x'])).toMatchObject({ code: 0, stdout: 'short\n' })
    const listed = (await run(['list', 'agents'])).stdout
    expect(listed).toMatch(/ {2}Explore .*\(built-in\)\n/)
    expect(listed).toMatch(/ {2}long .*\(agents\/long\.md\)\n {2}short .*\(baton\.toml:1\)\n/)
    expect((await run(['list', '--names'])).stdout).toContain('\nshort\n')
  })

  it('is found by its name in a file of another program, also in subfolders', async () => {
    const { folder, run, requests } = await world(
      {
        'agents/team/code-review.md': '---\nname: critic\ndescription: Use: often\ntools: *\n---\nBe strict.\n',
        'agents/web.md': '---\nname: searcher\ndescription: d\ntools: Read, WebSearch, mcp__none\n---\nBe quick.\n',
        'agents/team/again/b.md': '---\nname: critic\ndescription: d\n---\nBe kind.\n',
        'agents/team/Plan-b.md': '---\nname: Plan\ndescription: d\n---\nBe kind.\n',
        'chain.md': '+++\nmodel = "m"\nsub_agents = ["searcher"]\n+++\nSay.\n',
        'baton.toml': 'model = "m"\n',
      },
      () => ({ text: 'fine' }),
    )
    const names = (): readonly unknown[] =>
      ((requests.at(-1)?.body?.['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name)
    const refused = await run(['critic', '-i', 'x'])
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('baton trust')])
    expect((await run(['trust', 'agents/team/Plan-b.md'])).code).toBe(0)
    expect(await run(['critic', '-q', '-i', 'x'])).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(JSON.stringify(requests.at(-1)?.body?.messages)).toContain('Be strict.')
    expect(names()).toContain('read')
    const left = 'warning agents/web.md:4: left out tools that Baton does not have: WebSearch, mcp__none\n'
    for (const args of [['searcher', '-i', 'x'], ['agents/web.md', '-i', 'x'], ['chain.md']]) {
      const { code, stderr } = await run(args)
      expect([code, stderr.split(left).length]).toEqual([0, 2])
    }
    const listed = await run(['list', 'agents'])
    expect(listed.stdout).toMatch(/ {2}Plan .*\(agents\/team\/Plan-b\.md.*\n(?:.*\n)*? {2}critic .*code-review\.md\)\n/)
    expect(listed.stderr.match(/again\/b\.md is not used/g)).toHaveLength(1)
    const checked = await run(['check', 'agents/team/again/b.md', 'agents/web.md'])
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('is not used')])
    expect(checked.stdout).toContain('left out tools that Baton does not have: WebSearch, mcp__none')
    writeFileSync(join(folder, 'agents/web.md'), '---\nname: Explore\ndescription: d\n---\nBe kind.\n')
    expect((await run(['Explore', '-i', 'x'])).code).toBe(6)
  })

  it('is a command-line agent that is run by its name, and gets the given text', async () => {
    const own = '[agents.echo]\ncommand = "cat"\nsandbox = { mode = "danger-full-access" }\n'
    const { run } = await world({ '.home/config/config.toml': own }, () => ({ text: 'no' }))
    expect(await run(['echo', '-q', '-i', 'say {{x}} <b>'])).toMatchObject({ code: 0, stdout: 'say {{x}} <b>\n' })
    const nothing = await run(['echo'])
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('needs an input')])
    const failing = await run(['echo', '-i', 'x', '-c', 'agents.echo.command="false"'])
    expect([failing.code, failing.stderr]).toEqual([1, expect.stringContaining('exited with code 1')])
  })

  it('is resumed unchanged', async () => {
    let isUp = false
    const answers = (text: string): ModelReply => {
      if (text.includes('Be short') || text.includes('Be long')) return { text: 'said' }
      return isUp ? { text: 'done' } : { status: 400, body: { error: { message: 'no' } } }
    }
    const { folder, run, requests } = await world(
      {
        'baton.toml': config,
        'agents/long.md': '+++\nmodel = "large"\n+++\nBe long.\n',
        'chain.md':
          '+++\nmodel = "m"\nsub_agents = ["short", { name = "long", stage = "post_task" }, { name = "short", stage = "post_task" }]\n+++\nSay.\n',
      },
      answers,
    )
    expect((await run(['chain.md', '-q'])).code).toBe(1)
    writeFileSync(join(folder, 'baton.toml'), config.replace('small', 'other'))
    writeFileSync(join(folder, 'agents/long.md'), '+++\nmodel = "other"\n+++\nBe long.\n')
    isUp = true
    const id = (await run(['runs', '--ids', '-n', '1'])).stdout.trim()
    const resumed = await run(['resume', id])
    expect(resumed.code).toBe(0)
    expect(resumed.stderr).toContain('agents/long.md')
    expect(requests.map(({ body }) => body?.model)).toEqual(['small', 'm', 'm', 'large', 'small'])
  })

  it('is rerun by --use-current if its definition has changed', async () => {
    let isUp = false
    const answers = (text: string): ModelReply => {
      if (text.includes('Be ')) return { text: 'said' }
      return isUp ? { text: 'done' } : { status: 400, body: { error: { message: 'no' } } }
    }
    const { folder, run, requests } = await world(
      { 'baton.toml': config, 'chain.md': '+++\nmodel = "m"\nsub_agents = ["short"]\n+++\nSay.\n' },
      answers,
    )
    expect((await run(['chain.md', '-q'])).code).toBe(1)
    writeFileSync(join(folder, 'baton.toml'), config.replace('small', 'other'))
    isUp = true
    const id = (await run(['runs', '--ids', '-n', '1'])).stdout.trim()
    expect((await run(['resume', id, '--use-current', '-q'])).code).toBe(0)
    expect(requests.map(({ body }) => body?.model)).toEqual(['small', 'm', 'other', 'm'])
  })
})

describe('agents that a model may start', () => {
  const files = {
    'agents/long.md': '+++\ndescription = "long"\ntools = ["reed"]\n+++\nBe long.\n',
    'task.md':
      '+++\nmodel = "m"\ntools = ["task"]\n[agents.own]\ninstructions = "x"\n[agents.two]\ndescription = "two"\n+++\nSay.\n',
  }

  it('are checked at their definition, and those that cannot start are reported', async () => {
    const { run } = await world(files, () => ({ text: 'no' }))
    const { code, stdout, stderr } = await run(['check', 'task.md'])
    expect(code).toBe(2)
    expect(stdout + stderr).toContain('unknown tool "reed"\n  at agents/long.md:3:10')
    expect(stdout + stderr).toContain('nothing uses the agent "own": it has no description')
  })

  it('are announced all at once, each once, and briefly if there are many', async () => {
    const names = Array.from({ length: 6 }, (_, index) => [`agents/p${index}.md`, '+++\ncommand = "prog"\n+++\n'])
    const claude = '---\ndescription: Use when: asked\ntools: Read, Grep\ncolor: red\n---\nx\n'
    const { run } = await world(
      {
        ...Object.fromEntries(names),
        'agents/fine.md': claude,
        'agents/wrong.md': '---\ntools: Bash(git *)\n---\nx\n',
        'p.md':
          '+++\nmodel = "m"\ntools = ["task"]\nsub_agents = ["wrong", "own", "ownn"]\n[agents.own]\ninstructions = 5\n[agents.ours]\ntools = ["reed"]\ndescription = "x"\n+++\nx\n',
      },
      () => ({ text: 'no' }),
    )
    const { code, stdout } = await run(['check', 'p.md', 'agents/fine.md'])
    expect([code, stdout.match(/has a pattern/g)?.length, stdout.match(/unknown tool "reed"/g)?.length]).toEqual([
      2, 1, 1,
    ])
    expect(stdout).toContain('"agents.own.instructions" must be text')
    expect(stdout).toContain('3 more of the same: agents/p3.md:2:1, agents/p4.md:2:1, agents/p5.md:2:1')
    expect(stdout).toContain('ok agents/fine.md')
  })

  it('are listed by plan, without denied ones', async () => {
    const { run } = await world(files, () => ({ text: 'no' }))
    const { stdout } = await run(['plan', 'task.md', '-c', 'permission.task.Plan=deny'])
    expect(stdout).toContain('task (starts Bash, general-purpose, Explore, long, two')
  })

  it('that are programs are checked by doctor', async () => {
    const config = '[agents.there]\ncommand = "sh"\n[agents.gone]\ncommand = "no-such-program"\n'
    const { run } = await world({ '.home/config/config.toml': config }, () => ({ text: 'no' }))
    const { stdout } = await run(['doctor'])
    expect(stdout).toMatch(/agents +there runs \/.*\/sh\n/)
    expect(stdout).toContain('gone cannot be run: no-such-program is not on PATH')
  })
})

describe('definitions of a folder', () => {
  it.each([
    [{ 'baton.toml': '[agents.x]\ncommand = "prog"\n' }, 'p.md', '"agents.x.command" may not be "prog" in baton.toml'],
    [
      { 'baton.toml': '[agents.Plan]\nmodel = "m"\n' },
      'p.md',
      '"agents.Plan" may not be set in baton.toml: it shadows the built-in agent Plan',
    ],
    [{ 'agents/Plan.md': 'Mine.' }, 'plan.md', 'agents/Plan.md shadows the built-in agent Plan'],
    [
      { 'agents/Explore.md': '+++\ndescription = "x"\n+++\n' },
      'task.md',
      'agents/Explore.md shadows the built-in agent',
    ],
    [{ 'agents/x.md': '+++\npreset = "claude"\n+++\n' }, 'x.md', '"preset" may not be set by agents/x.md'],
  ])('need trust if they hide a name or start a program: %j', async (files, name, message) => {
    const { run } = await world(
      {
        'p.md': 'Say.\n',
        'plan.md': '+++\nsub_agents = ["Plan"]\n+++\nSay.\n',
        'x.md': '+++\nsub_agents = ["x"]\n+++\nSay.\n',
        'task.md': '+++\ntools = ["task"]\n+++\nSay.\n',
        ...files,
      },
      () => ({ text: 'no' }),
    )
    const { code, stderr } = await run([name, '-m', 'm'])
    expect(stderr).toContain(message)
    expect(code).toBe(6)
    const [file = ''] = Object.keys(files)
    expect(await run(['trust', file])).toMatchObject({ code: 0 })
    const trusted = await run([name, '-m', 'm', '--dry', 'req'])
    expect(trusted.stderr).not.toContain('trust')
  })
})
