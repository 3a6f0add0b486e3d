import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isCassette } from '../../src/journal/is-cassette.ts'
import { runIds } from '../../src/journal/find-run.ts'
import { openSigningKey, type SigningKey } from '../../src/journal/signing.ts'
import { signRun } from '../helpers/sign-run.ts'
import { baton } from '../helpers/baton.ts'
import { play } from '../helpers/durable/play.ts'
import { makeWorldOf } from '../helpers/durable/scenario.ts'
import { type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const agent = 'aip.file.save("begun.txt", "")\nreturn aip.file.load("needed.txt").content\n'

function world() {
  const folder = tempTree({ 'a.lua': agent, 'b.lua': agent })
  const env = { BATON_HOME: join(folder, '.home') }
  const run = (...args: readonly string[]) => baton(args, { cwd: folder, env })
  const runs = (): string => {
    const above = join(env.BATON_HOME, 'state/runs')
    return join(above, readdirSync(above)[0] ?? '')
  }
  const key = (): SigningKey => openSigningKey({ env, home: folder })
  return { folder, run, runs, key }
}

it('a resume writes the output files of the run, and its command line names them', async () => {
  const { folder, run } = world()
  const failed = await run('a.lua', '--output', 'answer.txt', '--record', 'a.cassette')
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(/resume: baton resume \S+ --output answer\.txt --record a\.cassette\n/)
  rmSync(join(folder, 'a.cassette'))

  writeFileSync(join(folder, 'needed.txt'), 'the answer')
  const resumed = await run('resume', '--last')
  expect(resumed).toMatchObject({ code: 0, stdout: '' })
  expect(readFileSync(join(folder, 'answer.txt'), 'utf8')).toContain('the answer')
  expect(isCassette(join(folder, 'a.cassette'))).toBe(true)
  expect(await run('resume', '--last')).toMatchObject({ code: 2, stderr: expect.stringContaining('no run of this') })
})

it('the command line for a failed script says that it has to be fixed first', async () => {
  const { folder, run } = world()
  const script = 'aip.file.append("log.txt", "x")\nerror("boom")\n'
  writeFileSync(join(folder, 'c.lua'), script)
  const { stderr } = await run('c.lua')
  expect(stderr).toMatch(/^resume: baton resume \S+ --use-current {2}# once c\.lua is fixed$/m)
  writeFileSync(join(folder, 'c.lua'), script.replace('error("boom")', 'return "fine"'))
  expect(await run('resume', '--last', '--use-current')).toMatchObject({ code: 0, stdout: 'fine\n' })

  // the cause of a host function's failure may have been fixed outside
  expect((await run('a.lua')).stderr).toMatch(/^resume: baton resume \S+$/m)
})

it('other output files may be named for a resume', async () => {
  const { folder, run } = world()
  await run('a.lua', '--output', 'answer.txt')
  writeFileSync(join(folder, 'needed.txt'), 'the answer')
  expect(await run('resume', '--last', '--output', 'other.txt')).toMatchObject({ code: 0 })
  expect([existsSync(join(folder, 'answer.txt')), existsSync(join(folder, 'other.txt'))]).toEqual([false, true])
})

it('the newest run is the one that started last, whatever the clock says, and none that never recorded what it runs', async () => {
  const { folder, run, runs, key } = world()
  await run('b.lua')
  await run('a.lua')
  const [newest = '', older = ''] = runIds(runs())
  // the clock was set back between the two: the second one has an earlier time in its name
  const early = `20200101-000000-${newest.slice(-9)}`
  const text = readFileSync(join(runs(), 'order.txt'), 'utf8')
  expect(text).toBe(`${older}\n${newest}\n`)
  renameSync(join(runs(), newest), join(runs(), early))
  signRun(join(runs(), early), key())
  writeFileSync(join(runs(), 'order.txt'), text.replace(newest, early))
  expect(runIds(runs())).toEqual([early, older])

  // killed between the header and the start
  const journal = join(runs(), early, 'j-000001.jsonl')
  const killed = '20300101-000000-000aaaaaa'
  const [header] = readFileSync(journal, 'utf8').split('\n')
  renameSync(join(runs(), older), join(runs(), killed))
  writeFileSync(join(runs(), killed, 'j-000001.jsonl'), `${header}\n`)

  writeFileSync(join(folder, 'needed.txt'), 'the answer')
  const resumed = await run('resume', 'last', '--json')
  expect(resumed.code).toBe(0)
  expect(existsSync(join(dirname(journal), 'j-000002.jsonl'))).toBe(true)
  expect(await run('resume', 'last')).toMatchObject({ code: 2, stderr: expect.stringContaining('no run of this') })
})

it('a run whose last sync failed can be resumed, also as the last one', async () => {
  const files = { 'a.lua': 'aip.cmd.exec("true")\nprint("ran")\nreturn "the answer"\n' }
  const count = await play(['run', 'a.lua'], { world: makeWorldOf(files, tempTree()), url: '', disturb: {} })
  const last = count.operations.findLastIndex(([name]) => name.startsWith('fdatasync')) + 1
  expect(last).toBeGreaterThan(0)

  const world = makeWorldOf(files, tempTree())
  const disturb = { at: last, when: 'fail', code: 'EIO' } as const
  expect(await play(['run', 'a.lua'], { world, url: '', disturb })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('EIO'),
  })
  const resumed = await play(['resume', 'last'], { world, url: '' })
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('the answer') })
})

const misfit = '<FILE_CHANGES>\n<FILE_PATCH file_path="a.js">\n@@\n-other\n+new\n</FILE_PATCH>\n</FILE_CHANGES>'
const fitting = misfit.replace('-other', '-source')
const coder = '+++\nwrite_mode = true\n[[sub_agents]]\nname = "post.lua"\nstage = "post_task"\n+++\nDo it.\n'
const post = 'return { coder_response = aip.file.load("needed.txt").content }\n'

it('a warning about an answer to an older process is printed by that process only', async () => {
  let isDown = true
  const script: ModelScript = (_, index) => {
    if (index === 0) return { text: misfit, finish: 'tool_calls' }
    return isDown ? { status: 400, body: 'broken' } : { text: fitting }
  }
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', 'a.js': 'source\n', 'post.lua': post, 'ask.md': coder })
  const env = { BATON_HOME: join(folder, '.home'), BATON_GATEWAY_URL: server.url }
  const run = async (...args: readonly string[]) => {
    const { stderr } = await baton(args, { cwd: folder, env })
    return ['called a tool, but none is offered', 'asking the model to correct its file changes', 'needed.txt'].filter(
      (told) => stderr.includes(told),
    )
  }
  expect(await run('ask.md', '-m', 'any')).toEqual([
    'called a tool, but none is offered',
    'asking the model to correct its file changes',
  ])
  // the model is called again, so the reason is printed; its earlier answer is known
  expect(await run('resume', '--last')).toEqual(['asking the model to correct its file changes'])
  isDown = false
  expect(await run('resume', '--last')).toEqual(['asking the model to correct its file changes', 'needed.txt'])
  expect(await run('resume', '--last')).toEqual(['needed.txt'])
  expect(server.requests).toHaveLength(4)
})
