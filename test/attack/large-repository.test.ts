import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { eventsOf, filesOf, gitWorld, iteratedPrompt, writeHook, writing } from '../helpers/git-world.ts'
import { isWhole } from './attempts.ts'

/** Files of the repository; `npm run soak -- attack` uses all of them. */
const count = isWhole ? 5000 : 150

it('a commit hook in a large repository refuses, reformats, and hangs', async () => {
  const many = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`src/${index % 50}/${index}.txt`, `file ${index}\n`]),
  )
  const ask = iteratedPrompt('condition = "1"\ncommits = true')
  const replies = ['refused', 'formatted', 'hung'].map((name) => ({ text: writing({ [`${name}.txt`]: name }) }))
  const world = await gitWorld({ 'ask.md': ask, ...many }, replies)
  const play = async (script: string, ...flags: readonly string[]) => {
    writeHook(world, 'pre-commit', script)
    const result = await world.run(['ask.md', '--json', ...flags])
    const [ended] = eventsOf(result, 'iteration.completed')
    const { changed_files: files, commit_id: commit } = ended ?? {}
    const warnings = eventsOf(result, 'warning').map(({ message }) => message)
    return { code: result.code, files, commit, warnings, status: world.git('status', '--porcelain') }
  }

  expect(await play('echo "no commits today" >&2; exit 1')).toEqual({
    code: 0,
    files: ['refused.txt'],
    commit: undefined,
    warnings: ['iteration 0 was not committed: no commits today'],
    status: '?? refused.txt',
  })
  rmSync(join(world.top, 'refused.txt'))

  const format = 'for f in $(git diff --cached --name-only) src/7/*.txt; do echo formatted >> "$f"; git add "$f"; done'
  expect(await play(format)).toEqual({
    code: 0,
    files: ['formatted.txt'],
    commit: world.git('rev-parse', 'HEAD'),
    warnings: [],
    status: '',
  })
  expect(filesOf(world, 'HEAD')).toHaveLength(1 + count / 50)

  const index = world.git('ls-files', '-s')
  expect(await play('exec sleep 100', '-c', 'iterate.command_timeout="1s"')).toEqual({
    code: 0,
    files: ['hung.txt'],
    commit: undefined,
    warnings: ['iteration 0 was not committed: git and its hooks took too long and were stopped'],
    status: '?? hung.txt',
  })
  expect(world.git('ls-files', '-s')).toBe(index)
  expect(existsSync(join(world.top, '.git/index.lock'))).toBe(false)
}, 300_000)
