import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const home = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1' }

/**
 * The cost of an iteration apart from its model and git, against a task of the same prompt; and its git commands in a
 * repository of 5,000 files, against the same commands as a user would type them.
 */
export async function iterate({ command, library, folder, small }) {
  return [await besides({ command, folder, small }), await inGit({ library, folder, small })]
}

/** The CPU time of a run minus that of a run with one iteration or task, divided by the number of the others. */
async function besides({ command, folder, small }) {
  const count = small ? 3 : 100
  const front = 'model = "offline::extractive"\ninput_concurrency = 1'
  const table = '[iterate]\nassessment = false\ncontext = false\ncontinuation = ""\ncommits = false\nstall = 0'
  writeFileSync(join(folder, 'tasks.md'), `+++\ntemplate = true\n${front}\n+++\nSay what a baton is.\n`)
  const measure = (args) => async () => {
    const { cpu, stdout } = await runCounted([command, 'run', ...args], { folder })
    if (!stdout.trim()) throw new Error(`${args[0]} printed nothing`)
    return cpu
  }
  function iterations(number) {
    const file = `iterate-${number}.md`
    writeFileSync(join(folder, file), `+++\n${front}\n${table}\ncondition = "${number}"\n+++\nSay what a baton is.\n`)
    return measure([file])
  }
  const tasks = (number) => measure(['tasks.md', ...Array.from({ length: number }, () => ['-i', 'one']).flat()])
  const cpu = await interleave(
    { one: iterations(1), all: iterations(count + 1), oneTask: tasks(1), allTasks: tasks(count + 1) },
    small ? 1 : 5,
  )
  const each = (all, one) => all.map((time, round) => (time - one[round]) / count)
  return figure('CPU time of an iteration', {
    of: 'a task of the main agent',
    ratios: quotients(each(cpu.all, cpu.one), each(cpu.allTasks, cpu.oneTask)),
  })
}

async function inGit({ library, folder, small }) {
  const { commitMessage, openRepository } = await import(`${library}/strategies/iterate/repository.js`)
  const { signal } = new AbortController()
  const [ours, typed] = ['ours', 'typed'].map((name) => makeRepository(join(folder, name), small ? 50 : 5_000))
  const options = { workspace: ours, env: home, leftOut: [], timeLimitMs: 60_000 }
  const { repository } = await openRepository(options, signal)
  let rounds = 0

  const times = await interleave(
    {
      async ours() {
        const iteration = (rounds += 1)
        writeFileSync(join(ours, 'src/0.txt'), `round ${iteration}\n`)
        const started = performance.now()
        const headBefore = await repository.head(signal)
        const files = await repository.changed({ excluded: [], known: [] }, signal)
        const facts = { run: 'bench', key: `${iteration}`, iteration, subject: undefined }
        const messageFor = (all) => commitMessage({ ...facts, files: all })
        const result = await repository.commit(
          { ...facts, headBefore, excluded: [], isStaged: false, messageFor },
          signal,
        )
        if (files.length !== 1 || result.kind !== 'committed') throw new Error(JSON.stringify(result))
        return performance.now() - started
      },
      async typed() {
        writeFileSync(join(typed, 'src/0.txt'), `round ${(rounds += 1)}\n`)
        const started = performance.now()
        git(typed, 'status', '--porcelain=v1', '-z', '--untracked-files=all')
        git(typed, 'add', '-A')
        git(typed, 'commit', '-q', '-m', `round ${rounds}`)
        git(typed, 'rev-parse', 'HEAD')
        return performance.now() - started
      },
    },
    small ? 1 : 15,
  )
  return figure(`git of an iteration, ${small ? 50 : '5,000'} files`, {
    of: 'git status, add, commit, rev-parse',
    ratios: quotients(times.ours, times.typed),
  })
}

function makeRepository(folder, count) {
  mkdirSync(join(folder, 'src'), { recursive: true })
  for (let index = 0; index < count; index += 1) writeFileSync(join(folder, `src/${index}.txt`), `file ${index}\n`)
  git(folder, 'init', '-q')
  git(folder, 'config', 'user.name', 'bench')
  git(folder, 'config', 'user.email', 'bench@example.org')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-q', '-m', 'base')
  return realpathSync(folder)
}

function git(cwd, ...args) {
  return execFileSync('git', args, { cwd, env: home })
}
