import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanEnv, limitMs } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const prompt = `+++
context_globs = ["src/*.ts"]
+++
Read it.
`

/**
 * The time from a save to the start of the next run, which first waits for files to settle, against chokidar alone:
 * from a save to its event.
 */
export async function watch({ command, folder, small }) {
  const counts = small ? { few: 5, many: 50 } : { few: 20, many: 2_000 }
  const worlds = Object.entries(counts).map(([name, count]) => [name, worldOf(join(folder, name), count)])
  const args = [command, 'read.md', '--watch', '--dry', 'req']
  const alone = join(import.meta.dirname, 'watch-alone.mjs')
  const watchers = Object.fromEntries(worlds.map(([name, world]) => [name, startWatcher(args, world)]))
  watchers.alone = startWatcher([alone, join(folder, 'few/src')], join(folder, 'few'))
  try {
    for (const watcher of Object.values(watchers)) await watcher.isReady()
    let saves = 0
    const time = (name, world) => async () => {
      saves += 1
      const noticed = watchers[name].next()
      const started = performance.now()
      writeFileSync(join(folder, world, 'src/f0.ts'), `export const save = ${saves}\n`)
      const ms = (await noticed) - started
      // both watchers of this folder are idle again before the next save
      await Promise.all(Object.values(watchers).map((watcher) => watcher.rests()))
      return ms
    }
    const { few, many, reference } = await interleave(
      { few: time('few', 'few'), many: time('many', 'many'), reference: time('alone', 'few') },
      small ? 1 : 21,
    )
    return [
      figure('from a save to the start of the next run', {
        of: 'chokidar, to its event',
        ratios: quotients(few, reference),
      }),
      figure(`that, with ${counts.many} files watched`, {
        of: `${counts.few} files watched`,
        ratios: quotients(many, few),
        aim: { atMost: 2 },
      }),
    ]
  } finally {
    for (const watcher of Object.values(watchers)) watcher.stop()
  }
}

function worldOf(folder, count) {
  mkdirSync(join(folder, 'src'), { recursive: true })
  mkdirSync(join(folder, '.git'))
  writeFileSync(join(folder, 'read.md'), prompt)
  for (let file = 0; file < count; file += 1)
    writeFileSync(join(folder, `src/f${file}.ts`), `export const f = ${file}\n`)
  return folder
}

/** A process that prints `watching` when it is idle and `changed` when it has noticed a change. */
function startWatcher(args, cwd) {
  const child = spawn(process.execPath, args, { cwd, env: cleanEnv(cwd), stdio: ['ignore', 'ignore', 'pipe'] })
  let said = []
  let text = ''
  let failure
  let told = () => {}
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    text += piece
    // lines that start with it: others may name the changed files
    said = text.match(/^(?:watching|changed)/gm) ?? []
    told()
  })
  child.once('exit', () => {
    failure = new Error(`${args.join(' ')} has exited: ${text}`)
    told()
  })

  async function until(condition) {
    const started = performance.now()
    while (!condition()) {
      if (failure !== undefined) throw failure
      const left = limitMs - (performance.now() - started)
      if (left <= 0) throw new Error(`${args.join(' ')} prints nothing more: ${text}`)
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left)
        told = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return performance.now()
  }

  const changes = () => said.filter((word) => word === 'changed').length

  return {
    isReady: () => until(() => said.includes('watching')),
    next: () => {
      const before = changes()
      return until(() => changes() > before)
    },
    // consecutive changes may settle together; chokidar alone reports only once that it is idle
    rests: async () => {
      await new Promise((resolve) => setTimeout(resolve, 150))
      if (args.includes('--watch')) await until(() => said.at(-1) === 'watching')
    },
    stop: () => child.kill(),
  }
}
