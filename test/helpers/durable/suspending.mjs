// node suspending.mjs run FILE --json | resume RUN --json [--uncertain ID=CHOICE]: the command as far as trials use it, in
// which model calls wait: in each process all but the first ones are suspended until the file `../outside/approved` is there.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const dist = join(import.meta.dirname, '../../../dist')
const [{ startRun }, { resumeRun }, { BatonError, isBatonError }, { exitCodeOf }] = await Promise.all(
  ['runner.js', 'wiring/resume.js', 'base/error.js', 'event/exit-code.js'].map((path) => import(join(dist, path))),
)

/** Model calls of a process that are made while nobody has approved any. */
const free = 3

let calls = 0
const hook = {
  async effect(kind, act) {
    if (kind !== 'model') return act()
    calls += 1
    if (calls <= free || existsSync('../outside/approved')) return act()
    throw new BatonError('SUSPENDED', 'waiting for an approval: ask the model', { hint: 'Approve it, then resume.' })
  },
}

const [word, target, ...flags] = process.argv.slice(2)
const env = { ...process.env }
const home = env['HOME'] ?? ''
const listener = (event) => process.stdout.write(`${JSON.stringify(event)}\n`)
const uncertain = flags.flatMap((flag, index) => (flag === '--uncertain' ? [flags[index + 1]] : []))

try {
  const options = { env, home, hooks: [hook] }
  const report =
    word === 'run'
      ? await startRun(target, { ...options, cwd: process.cwd() }, listener)
      : await resumeRun({ ...options, folder: folderOf(target), uncertain }, listener)
  process.exitCode = report.exitCode
} catch (error) {
  if (!isBatonError(error)) throw error
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\n`)
  process.exitCode = exitCodeOf(error)
}

function folderOf(run) {
  const runs = join(home, 'state/runs')
  const found = readdirSync(runs).map((workspace) => join(runs, workspace, run))
  return found.find((folder) => existsSync(folder)) ?? run
}
