import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

interface World {
  readonly cwd: string
  readonly home: string
  readonly server: ModelServer
  readonly run: (
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    process?: 'own',
  ) => Promise<BatonResult>
}

async function world(files: { readonly [path: string]: string }, script: ModelScript): Promise<World> {
  const server = await startModelServer(script)
  open.push(server)
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const home = join(tempTree(), 'baton')
  const usual = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-0123456789', BATON_HOME: home }
  return {
    cwd,
    home,
    server,
    run: (args, env = {}, process) => baton(args, { cwd, env: { ...usual, ...env }, ...(process && { process }) }),
  }
}

const makes = (_: unknown, index: number) => ({
  text: `<FILE_CHANGES>\n<FILE_NEW file_path="made/${index}.txt">\nmade\n</FILE_NEW>\n</FILE_CHANGES>\n`,
})

it('reports iterations with the score before them, their changes, why they ended and what to type next', async () => {
  const night = `+++
model = "gpt-5"
write_mode = true
[iterate]
condition = "2"
commits = false
score = "ls made 2>/dev/null | wc -l"
until = "echo tests; echo one fails; exit 1"
+++
Make a file.
`
  const { cwd, run } = await world({ 'night.md': night }, makes)
  const summary = join(cwd, 'step.md')
  const ended = await run(['night.md', '-q', '--report', 'night.html'], { GITHUB_STEP_SUMMARY: summary })
  expect(ended.code).toBe(7)
  expect(readFileSync(join(cwd, 'night.html'), 'utf8')).toMatch(/^<!doctype html>[^]*until was not met/)
  expect(readFileSync(summary, 'utf8')).toMatch(/^## <code>night.md<\/code>: failed, exit code 7\n/)

  const { stdout } = await run(['report'])
  expect(stdout).toMatch(
    /2 of 2 iterations done\n.*part .*score +files.*\n +iteration\/0 +done +1 \(\+1\) +1 .*\n +iteration\/1 +done +2 \(\+1\) +1/,
  )
  expect(stdout).toContain('score: 0 before the first iteration, 2 after iteration 1, between 0 and 2\n')
  expect(stdout).toMatch(/2 files, \+2 −0\n +\+1 −0 +created +made\/0.txt/)
  expect(stdout).toMatch(/failed iteration\/1\n +until was not met: .*\n +tests\n +one fails\n/)
  expect(stdout).toMatch(/undo: baton undo \d{8}-/)

  // the summary has each report once
  await run(['report', 'last'], { GITHUB_STEP_SUMMARY: summary })
  expect(readFileSync(summary, 'utf8').match(/^## /gm)).toHaveLength(1)
  const json = JSON.parse((await run(['report', '--json'])).stdout) as { scores: unknown; rows: { files: unknown }[] }
  expect(json.scores).toEqual({
    before: 0,
    points: [
      { place: 'iteration/0', score: 1 },
      { place: 'iteration/1', score: 2 },
    ],
  })
  expect(json.rows.map(({ files }) => files)).toEqual([['made/0.txt'], ['made/1.txt']])
})

it('names the steps of a workflow, and its items by what they are', async () => {
  const flow = `+++
model = "gpt-5"
[params]
files = ["a.ts", "b.ts"]
[[workflow.step]]
id = "look"
for_each = "params.files"
instructions = "Look at {{item}}."
[[workflow.step]]
id = "sum_up"
needs = ["look"]
instructions = "Sum up."
+++
Work.
`
  const { run } = await world({ 'flow.md': flow }, () => ({ text: 'Fine.' }))
  expect((await run(['flow.md', '-q'])).code).toBe(0)
  const { stdout } = await run(['report'])
  expect(stdout).toMatch(/\n +flow\.md +done.*\n +look +done.*\n +a\.ts +done.*\n +b\.ts +done.*\n +sum_up +done/)
})

it('reports a run that waits, one that failed and one that was killed, each with the command that goes on', async () => {
  const ask = '+++\nmodel = "gpt-5"\nwrite_mode = "ask"\n+++\nMake it.\n'
  const fails = '+++\nmodel = "gpt-5"\ntemplate = true\n+++\nSay {{input}}\n'
  const { cwd, home, run } = await world({ 'ask.md': ask, 'fails.md': fails }, (request, index) => {
    const isBad = JSON.stringify(request.body?.messages).includes('bad')
    return isBad
      ? { status: 400, body: { error: { message: 'first\nlast line of the server' } } }
      : makes(request, index)
  })
  expect((await run(['ask.md', '-q', '--on-ask', 'suspend'])).code).toBe(5)
  const waits = (await run(['report'])).stdout
  expect(waits).toMatch(/waits for approval of 1 call\n +1 +write .*made\/0.txt/)
  expect(waits).toMatch(/approve: baton approve \S+\nreject: /)
  expect(waits).not.toContain('failed')

  // its process must be gone below
  expect((await run(['fails.md', '-q', '-i', 'good', '-i', 'bad'], {}, 'own')).code).toBe(1)
  const failed = (await run(['report'])).stdout
  expect(failed).toMatch(/1 of 2 tasks done, 1 failed\n.*\n +good +done.*\n +bad +failed/)
  expect(failed).toMatch(/failed task\/1.*\n.*refused the request .*last line of the server/)
  expect(failed).toMatch(/resume: baton resume \S+\n/)

  // as after kill -9: no end, no summary, no index
  const all = join(home, 'state', 'runs')
  const runs = join(all, readdirSync(all)[0] ?? '')
  const newest = /baton resume (\S+)/.exec(failed)?.[1] ?? ''
  const segment = readdirSync(join(runs, newest)).find((name) => name.endsWith('.jsonl')) ?? ''
  const file = join(runs, newest, segment)
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  writeFileSync(file, `${lines.filter((line) => !line.includes('"k":"run.end"')).join('\n')}\n`)
  rmSync(join(runs, newest, 'summary.json'))
  rmSync(join(runs, 'index.jsonl'))
  const killed = (await run(['report', newest])).stdout
  expect(killed).toMatch(/^\S+ {2}interrupted\n/)
  expect(killed).toContain(`resume: baton resume ${newest}\n`)

  // and with damaged records
  writeFileSync(file, `${lines.slice(0, 4).join('\n')}\n{"broken\n${lines.slice(6).join('\n')}\n`)
  const damaged = await run(['report', newest, '--format', 'markdown'])
  expect(damaged.code).toBe(0)
  expect(damaged.stdout).toContain('of the journal not shown.')
  expect(existsSync(join(cwd, 'made'))).toBe(false)
})

it('finds a report that cannot be written before anything is paid, and keeps --report for a resume', async () => {
  const prompt = '+++\nmodel = "gpt-5"\n+++\nHello\n'
  const { cwd, server, run } = await world({ 'a.md': prompt, 'folder/x': '' }, (_, index) =>
    index === 0 ? { status: 400, body: { error: { message: 'no' } } } : { text: 'yes' },
  )
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await run(['a.md', ...args])
    expect(code).toBe(2)
    return stderr
  }
  expect(await refused('--report', 'a.pdf')).toContain('--report a.pdf: the ending of the file decides the format')
  expect(await refused('--report', 'none/a.md')).toContain('there is no folder')
  expect(await refused('--report', 'a.md')).toContain('--report a.md is the file being run')
  expect(await refused('--report', 'o.txt', '--output', 'o.txt')).toContain('--report o.txt is the file of --output')
  expect(await refused('--report', 'r.md', '--replay', 'last')).toContain('--replay and --report cannot be combined')
  expect(server.requests).toHaveLength(0)

  const failed = await run(['a.md', '--report', 'r.json'])
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(/resume: baton resume \S+ --report r.json\n/)
  const status = (): unknown =>
    (JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')) as { run: { status: unknown } }).run.status
  expect(status()).toBe('failed')
  expect((await run(['resume', '--last', '-q'])).code).toBe(0)
  expect(status()).toBe('done')
})

it('reports what a dry run has planned, and how to apply it', async () => {
  const { run } = await world({ 'ask.md': '+++\nmodel = "gpt-5"\nwrite_mode = true\n+++\nMake a file.\n' }, makes)
  expect((await run(['ask.md', '-q', '--dry', 'changes'])).code).toBe(0)
  const { stdout } = await run(['report'])
  expect(stdout).toMatch(/^\S+ {2}not applied, exit code 0\n/)
  expect(stdout).toContain('\n1 file, +1 −0\n  +1 −0      not applied made/0.txt\n')
  expect(stdout).toMatch(/\nsee the changes: baton runs show \S+ --diff\napply: baton apply \S+\n$/)
})
