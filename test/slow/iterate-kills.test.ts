import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { mapLimit } from '../../src/base/concurrency.ts'
import { type IterateKill, iterateKills, type IterateTrial, tryIterate } from '../helpers/durable/iterate-trial.ts'
import { readJournal } from '../helpers/durable/journal-state.ts'
import { play, type PlayOptions } from '../helpers/durable/play.ts'
import { gitWorld, iteratedPrompt, writing } from '../helpers/git-world.ts'
import { tempTree } from '../helpers/temp.ts'

// A sample of what scripts/soak.mjs tries in full: a run with three iterations that commits is killed by SIGKILL, also
// from within git, resumed, and compared with an undisturbed run.

const operations: readonly IterateKill[] = [
  { at: 87, when: 'half' as const },
  { match: '"kind":"git"', at: 1, when: 'after' as const },
].map((disturb) => ({ kind: 'operation', disturb }))

let reference: IterateTrial

beforeAll(async () => {
  reference = await tryIterate(undefined)
})

it('commits three times without a kill', () => {
  expect(reference).toMatchObject({ problems: [], stops: 0 })
  expect(reference.commits.map((line) => line.split(' ')[0])).toEqual(['base', '[iter-0]', '[iter-1]', '[iter-2]'])
  expect(new Set(reference.hooks.map((line) => line.split(' ')[0])).size).toBe(6)
})

it.each(operations.map((kill) => [JSON.stringify(kill), kill] as const))('continues after %s', async (_, kill) => {
  const { problems, stops } = await tryIterate(kill, reference.commits)
  expect({ problems, stops }).toEqual({ problems: [], stops: 1 })
})

it('continues after a kill within git, at the hooks of its first commit', async () => {
  const first = reference.hooks.length / 3
  const some = iterateKills(reference.hooks).filter(({ at }, index) => at <= first && index % 18 === 0)
  expect(some.length).toBeGreaterThan(1)
  const { signal } = new AbortController()
  const found = await mapLimit(some, { limit: 2, signal }, async (kill) => {
    const { problems, stops } = await tryIterate(kill, reference.commits)
    return { kill, problems, stops }
  })
  expect(found).toEqual(some.map((kill) => ({ kill, problems: [], stops: 1 })))
}, 300_000)

/** A folder with a git that kills the run once the end of its last iteration is recorded. */
function killingGit(home: string): string {
  const has = (text: string): string => `find '${home}' -name '*.jsonl' -exec cat {} + | grep -qF '${text}'`
  const script = `#!/bin/sh
if ${has('"k":"ended","p":"iteration/1/score"')}; then
  until ${has('"k":"done","p":"iteration/1"')}; do sleep 0.02; done
  kill -9 $PPID
fi
PATH='${process.env['PATH'] ?? ''}' exec git "$@"
`
  const folder = tempTree({ git: script })
  chmodSync(join(folder, 'git'), 0o755)
  return folder
}

async function killedAtBest(disturb: NonNullable<PlayOptions['disturb']>, gitIn?: (home: string) => string) {
  const rules = 'condition = "2"\ncommits = true\nscore = "wc -c < list.txt"\nscore_best = "lowest"'
  const answers = ['one\n', 'one\ntwo\n'].map((text) => ({ text: writing({ 'list.txt': text }) }))
  const git = await gitWorld(
    { 'ask.md': iteratedPrompt(rules, { front: 'context_globs = ["list.txt"]' }), 'list.txt': 'one\ntwo\nthree\n' },
    answers,
  )
  const world = { workspace: git.top, home: git.home, outside: tempTree() }
  const env = gitIn === undefined ? {} : { PATH: `${gitIn(git.home)}:${process.env['PATH']}` }
  const killed = await play(['run', 'ask.md'], { world, url: git.server.url, disturb, env })
  expect(killed.code, killed.stderr).toBeNull()
  const { run = '' } = (await readJournal(world)) ?? {}
  const baton = (...args: readonly string[]) => play(args, { world, url: git.server.url })
  return { ...git, run, baton }
}

it('continues where it was killed while it restored the files of the best iteration', async () => {
  const { run, baton, read, server } = await killedAtBest({ match: '"p":"best/changes#0"', at: 1, when: 'after' })
  const resumed = await baton('resume', run)
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
  expect([read('list.txt'), server.requests.length]).toEqual(['one\n\n', 2])
})

it('does not change a file that was modified before the best iteration could be restored, and says how to restore it', async () => {
  const { run, baton, read, write, git, server } = await killedAtBest({}, killingGit)
  write({ 'list.txt': 'mine\n' })
  const resumed = await baton('resume', run)
  expect(resumed.code, resumed.stderr).toBe(1)
  expect(resumed.stderr).toContain('the files of iteration 0, which have the best score, 5, were not restored')
  expect(resumed.stderr).toContain('list.txt changed after the last iteration')
  expect(resumed.stderr).toContain('(0 failed), the best files were not restored')
  const [, args = ''] =
    /restore them yourself: git (restore --source=[0-9a-f]{12} -- list\.txt)/.exec(resumed.stderr) ?? []
  expect(read('list.txt')).toBe('mine\n')
  expect((await baton('runs', 'show', run)).stdout).toContain('were not restored')
  git(...args.split(' '))
  expect(read('list.txt')).toBe('one\n\n')
  const again = await baton('resume', run)
  expect(again.code, again.stderr).toBe(0)
  expect(server.requests.length).toBe(2)
})

/** Two iterations, of which the first one is the best; `second` answers the second one. */
async function bestIsFirst(second: string, more: Readonly<Record<string, string>> = {}) {
  const rules = 'condition = "2"\ncommits = true\nscore = "grep -r two list.txt | wc -l"'
  const prompt = iteratedPrompt(`${rules}\nscore_best = "lowest"`, { front: 'context_globs = ["list.txt"]' })
  const files = { 'ask.md': prompt, 'list.txt': 'two\ntwo\n', ...more }
  return gitWorld(files, [{ text: writing({ 'list.txt': 'one' }) }, { text: second }])
}

const folderInstead = (name: string): string =>
  `<FILE_CHANGES>\n<FILE_DELETE file_path="list.txt" />\n<FILE_NEW file_path="list.txt/in/${name}">\ntwo\n</FILE_NEW>\n</FILE_CHANGES>\n`

it('restores the file of the best iteration if a folder has replaced it', async () => {
  const { run, read, git } = await bestIsFirst(folderInstead('it.txt'))
  const { code, stderr } = await run(['run', 'ask.md'])
  expect(code, stderr).toBe(0)
  expect([read('list.txt'), git('status', '--porcelain')]).toEqual(['one\n', ''])
})

it('reports that the files of the best iteration were not restored before it reads files again', async () => {
  const { run, top } = await bestIsFirst(folderInstead('own.log'), { '.gitignore': '*.log\n' })
  const { code, stderr } = await run(['run', 'ask.md'])
  expect(code, stderr).toBe(1)
  expect(stderr).toContain('were not restored')
  expect(stderr).toMatch(/git restore --source=[0-9a-f]{12} -- list\.txt/)
  rmSync(join(top, 'list.txt'), { recursive: true })
  const resumed = await run(['resume', 'last'])
  expect(resumed.code, resumed.stderr).toBe(0)
})
