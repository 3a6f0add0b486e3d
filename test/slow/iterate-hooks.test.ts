import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventsOf, filesOf, gitWorld, iteratedPrompt, subjects, writeHook, writing } from '../helpers/git-world.ts'

const twice = iteratedPrompt('condition = "2"\ncommits = true')
const replies = [{ text: writing({ 'x.txt': 'one' }) }, { text: writing({ 'y.txt': 'two' }) }]

async function hooked(hook: string, script: string, ask = twice) {
  const world = await gitWorld({ 'ask.md': ask, 'a.txt': 'a\n' }, replies)
  writeHook(world, hook, script)
  const play = async () => {
    const result = await world.run(['ask.md', '--json'])
    const ended = eventsOf(result, 'iteration.completed')
    const warnings = eventsOf(result, 'warning').map(({ message }) => message)
    return { code: result.code, ended, warnings }
  }
  return { ...world, play }
}

describe('a hook of the repository', () => {
  it.each(['pre-commit', 'commit-msg', 'prepare-commit-msg'])(
    '%s refuses one commit: the next contains its changes',
    async (hook) => {
      const world = await hooked(hook, 'test -e y.txt && exit 0; echo "no x without y" >&2; exit 1')
      const { code, ended, warnings } = await world.play()
      expect(code).toBe(0)
      expect(warnings).toEqual(['iteration 0 was not committed: no x without y'])
      expect(ended[0]).toMatchObject({ success: true, changed_files: ['x.txt'] })
      expect(ended[0]).not.toHaveProperty('commit_id')
      expect(ended[1]).toMatchObject({ changed_files: ['x.txt', 'y.txt'] })
      expect(subjects(world)).toEqual(['base', '[iter-1] Iteration 1 changes'])
      expect(filesOf(world, 'HEAD')).toEqual(['x.txt', 'y.txt'])
    },
  )

  it('refuses all commits: the index is unchanged', async () => {
    const ask = iteratedPrompt('condition = "2"\ncommits = true\non_dirty = "allow"')
    const world = await hooked('pre-commit', 'exit 1', ask)
    world.write({ 'a.txt': 'mine\n', 'b.txt': 'b\n' })
    world.git('add', 'b.txt')
    const index = world.git('ls-files', '-s')
    const { code, warnings } = await world.play()
    expect(code).toBe(0)
    expect(warnings).toEqual([
      'iteration 0 was not committed: git exited with code 1',
      'iteration 1 was not committed: git exited with code 1',
    ])
    expect(world.git('ls-files', '-s')).toBe(index)
    expect(world.git('status', '--porcelain')).toBe(' M a.txt\nA  b.txt\n?? x.txt\n?? y.txt')
  })

  it('reformats the committed files, and stages them', async () => {
    const world = await hooked(
      'pre-commit',
      'for f in $(git diff --cached --name-only); do sed -i s/^/formatted:/ "$f"; git add "$f"; done',
    )
    const { code, ended, warnings } = await world.play()
    expect({ code, warnings }).toEqual({ code: 0, warnings: [] })
    expect(ended.map((event) => event['changed_files'])).toEqual([['x.txt'], ['y.txt']])
    expect(world.git('show', 'HEAD~1:x.txt')).toBe('formatted:one')
    expect(world.git('status', '--porcelain')).toBe('')
  })

  it('reformats files without staging them: the next commit contains that', async () => {
    const world = await hooked('post-commit', 'test -e y.txt || echo more >> x.txt')
    const { code, ended } = await world.play()
    expect(code).toBe(0)
    expect(ended.map((event) => event['changed_files'])).toEqual([['x.txt'], ['x.txt', 'y.txt']])
    expect(world.git('show', 'HEAD:x.txt')).toBe('one\nmore')
  })

  it('hangs before the commit, is stopped with its child processes, and leaves no lock, also if something was staged', async () => {
    const hangs = async (isStaged: boolean): Promise<void> => {
      const ask = iteratedPrompt('condition = "2"\ncommits = true\non_dirty = "allow"\ncommand_timeout = "1s"')
      const world = await hooked('pre-commit', 'sleep 100 & echo $! >> ../pids; exec sleep 100', ask)
      if (isStaged) world.write({ 'b.txt': 'b\n' })
      if (isStaged) world.git('add', 'b.txt')
      const index = world.git('ls-files', '-s')
      const { code, warnings } = await world.play()
      expect(code).toBe(0)
      const stopped = 'git and its hooks took too long and were stopped'
      expect(warnings).toEqual([
        `iteration 0 was not committed: ${stopped}`,
        `iteration 1 was not committed: ${stopped}`,
      ])
      expect(existsSync(join(world.top, '.git/index.lock'))).toBe(false)
      expect(world.git('ls-files', '-s')).toBe(index)
      const pids = world.read('../pids').trim().split('\n').map(Number)
      expect(pids).toHaveLength(2)
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    }
    await Promise.all([hangs(false), hangs(true)])
  })

  it('hangs after the commit, which exists', async () => {
    const world = await hooked(
      'post-commit',
      'test -e y.txt || exec sleep 100',
      twice.replace('[iterate]', '[iterate]\ncommand_timeout = "2s"'),
    )
    const { code, ended, warnings } = await world.play()
    expect({ code, warnings }).toEqual({ code: 0, warnings: [] })
    expect(ended.map((event) => event['commit_id'])).toEqual(
      world.git('log', '-2', '--reverse', '--format=%H').split('\n'),
    )
    expect(world.git('status', '--porcelain')).toBe('')
  })

  it('makes its own commit afterwards: HEAD is the commit of the iteration', async () => {
    const world = await hooked(
      'post-commit',
      'test -e mark && exit 0; touch mark; git add mark; git commit -q --no-verify -m "by the hook"',
    )
    const { code, ended } = await world.play()
    expect(code).toBe(0)
    expect(ended.map((event) => event['commit_id'])).toEqual(
      world.git('log', '-2', '--reverse', '--format=%H').split('\n'),
    )
    expect(subjects(world)).toEqual([
      'base',
      '[iter-0] Iteration 0 changes',
      'by the hook',
      '[iter-1] Iteration 1 changes',
    ])
  })

  it('is found by core.hooksPath, and gets no key of a model', async () => {
    const world = await gitWorld({ 'ask.md': twice, 'hooks/pre-commit': '#!/bin/sh\nenv > .git/seen\n' }, replies)
    world.git('update-index', '--chmod=+x', 'hooks/pre-commit')
    world.git('commit', '-q', '-m', 'hook')
    world.git('checkout', '-q', '--', 'hooks/pre-commit')
    world.git('config', 'core.hooksPath', 'hooks')
    const { code } = await world.run(['ask.md'], {
      env: { OPENAI_API_KEY: 'sk-of-a-test', BATON_GATEWAY_KEY: 'key-of-a-test' },
    })
    expect(code).toBe(0)
    expect(world.read('.git/seen')).toContain('PATH=')
    expect(world.read('.git/seen')).not.toMatch(/sk-of-a-test|key-of-a-test/)
  })
})

describe('programs in the config of a repository', () => {
  it('are run by the commit as for the user, and by nothing else', async () => {
    const world = await hooked('pre-commit', 'exit 0')
    const log = join(world.home, 'ran')
    const named = join(world.home, 'named')
    writeFileSync(named, `#!/bin/sh\necho "$0 $1" >> ${log}\ncat\n`, { mode: 0o755 })
    world.git('config', 'core.fsmonitor', named)
    world.git('config', 'diff.external', named)
    world.git('config', 'core.pager', named)
    world.git('config', 'filter.mark.clean', `sh -c 'echo clean >> ${log}; cat'`)
    world.write({ '.git/info/attributes': '*.txt filter=mark\n' })
    const { code, ended } = await world.play()
    expect(code).toBe(0)
    expect(ended.map((event) => event['changed_files'])).toEqual([['x.txt'], ['y.txt']])
    const ran = world.read('../home/ran').trim().split('\n')
    expect(ran).toContain('clean')
    expect(ran.filter((line) => line !== 'clean' && !line.startsWith(named))).toEqual([])
  })
})

describe('a hook that refuses all commits', () => {
  it('does not prevent the restoration of the files of the best iteration', async () => {
    const rules = 'condition = "2"\ncommits = true\nscore = "wc -c < list.txt"\nscore_best = "lowest"'
    const world = await gitWorld(
      { 'ask.md': iteratedPrompt(rules, { front: 'context_globs = ["list.txt"]' }), 'list.txt': 'one\ntwo\nthree\n' },
      ['one', 'one and more than before'].map((text) => ({ text: writing({ 'list.txt': text }) })),
    )
    writeHook(world, 'pre-commit', 'exit 1')
    const result = await world.run(['ask.md', '--json'])
    expect(result.code, result.stderr).toBe(0)
    expect(world.read('list.txt')).toBe('one\n')
    expect(eventsOf(result, 'iterate.restored')).toMatchObject([{ iteration: 0, changed_files: ['list.txt'] }])
    const replayed = await world.run(['--replay', 'last'])
    expect(replayed.code, replayed.stderr).toBe(0)
  })
})
