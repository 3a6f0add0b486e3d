import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly server: ModelServer
  readonly save: (path: string, text: string) => void
}

async function world(): Promise<World> {
  const server = await startModelServer((_request, index) => ({ text: `answer ${index + 1}` }))
  onTestFinished(() => server.close())
  const cwd = tempTree({
    '.git/HEAD': '',
    'ask.md':
      '+++\nmodel = "gpt-5-mini"\nworking_globs = ["src/*.ts"]\ninput_concurrency = 1\nsub_agents = ["plan"]\n+++\nAsk.\n',
    'plan.lua': 'print("planned")',
    'src/a.ts': 'a',
    'src/b.ts': 'b',
    'src/c.ts': 'c',
  })
  const save: World['save'] = (path, text) => writeFileSync(join(cwd, path), text)
  return { cwd, env: { BATON_GATEWAY_URL: server.url }, server, save }
}

it('pays only for what was edited, says why, and returns the whole result', async () => {
  const { cwd, env, server, save } = await world()
  let rests = 0
  const { stdout, stderr } = await baton(['ask.md', '--watch', '--max-cost', '1', '-c', 'budget.unpriced="allow"'], {
    cwd,
    env,
    onError(text, kill) {
      const count = text.match(/^watching \d+ files\n/gm)?.length ?? 0
      if (count === rests) return
      rests = count
      if (rests === 1) save('src/b.ts', 'edited')
      else kill('SIGTERM')
    },
  })
  expect(server.requests).toHaveLength(4)
  const [changed, dated, ...others] = stderr.slice(stderr.indexOf('changed')).split('\n')
  expect([changed, dated]).toEqual(['changed src/b.ts', expect.stringMatching(/^── run 2 · /)])
  expect(others).toEqual([
    '[plan] planned',
    'rerun task/1 src/b.ts: src/b.ts changed',
    '3 parts reused, 1 rerun',
    'watching 5 files',
    expect.stringMatching(/^session: 2 runs · /),
    '',
  ])
  const runs = stdout.split(/(?===> src\/a)/)
  expect(runs.map((text) => text.match(/answer \d/g))).toEqual([
    ['answer 1', 'answer 2', 'answer 3'],
    ['answer 1', 'answer 4', 'answer 3'],
  ])
})

it('repeats everything for r', async () => {
  const at = await world()
  let rests = 0
  const { terminal } = await inTerminal('baton ask.md -w', {
    ...at,
    onScreen(screen, type) {
      const count = screen.everything().join('\n').split('q to quit').length - 1
      if (count === rests) return
      rests = count
      if (rests === 1) at.save('src/c.ts', 'edited')
      else type(rests === 2 ? 'r' : 'q')
    },
  })
  expect(at.server.requests).toHaveLength(3 + 1 + 3)
  expect(
    terminal
      .everything()
      .join('\n')
      .match(/\d parts? reused/g),
  ).toEqual(['3 parts reused'])
})
