import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { figure, interleave, quotients } from './rounds.mjs'

const perFolder = 100
const pattern = 'needle \\d+ in'
/** A person notices what takes longer. */
const pauseMs = 20

/**
 * The tool `grep` over many small files, from the call to its recorded answer, through ripgrep and without it, against
 * ripgrep alone; and the longest time in which the process does nothing else meanwhile.
 */
export async function grep({ library, folder: given, small }) {
  const folder = join(realpathSync(given), 'tree')
  const many = small ? 400 : 20_000
  writeTree(folder, many)
  const { findProgram } = await import(`${library}/base/program.js`)
  const program = findProgram('rg', process.env, folder)
  const call = await createCall(library, { folder, run: join(given, 'run') })
  const expected = `[${many / 100} matching lines in ${many / 100} files]`

  async function tool(path) {
    const longest = watchTurns()
    const begun = performance.now()
    const { text } = await call(path)
    const ms = performance.now() - begun
    if (!text.endsWith(expected)) throw new Error(`grep gave: ${text.slice(-200)}`)
    return { ms, stall: longest() }
  }

  async function alone() {
    const begun = performance.now()
    const { stdout } = await promisify(execFile)(program, ['--no-config', '--hidden', '-n', pattern, folder])
    if (stdout.split('\n').length !== many / 100 + 1) throw new Error('ripgrep found something else')
    return { ms: performance.now() - begun }
  }

  const cases = {
    own: () => tool(''),
    ...(program === undefined ? {} : { through: () => tool(process.env.PATH), alone }),
  }
  const results = await interleave(cases, small ? 1 : 9)
  const numbers = (name, field) => results[name].map((result) => result[field])
  const label = `${many.toLocaleString('en-US')} files`
  const stalls = (name, title) =>
    figure(`${title}: longest stall, ${label}`, {
      of: `a pause of ${pauseMs} ms`,
      ratios: numbers(name, 'stall').map((ms) => ms / pauseMs),
      aim: { atMost: 1 },
    })
  if (program === undefined) return [stalls('own', 'without ripgrep')]
  return [
    figure(`grep through ripgrep, ${label}`, {
      of: 'ripgrep alone',
      ratios: quotients(numbers('through', 'ms'), numbers('alone', 'ms')),
    }),
    figure(`grep without ripgrep, ${label}`, {
      of: 'ripgrep alone',
      ratios: quotients(numbers('own', 'ms'), numbers('alone', 'ms')),
    }),
    stalls('through', 'through ripgrep'),
    stalls('own', 'without ripgrep'),
  ]
}

function writeTree(folder, many) {
  for (let number = 0; number < many; number += 1) {
    const name = join(folder, `part-${Math.floor(number / perFolder)}`)
    if (number % perFolder === 0) mkdirSync(name, { recursive: true })
    const found = number % 100 === 0 ? `const found = 'needle ${number} in a stack'\n` : ''
    writeFileSync(join(name, `f${number}.ts`), `${`export const value = ${number}\n`.repeat(60)}${found}`)
  }
}

/** A call as a model makes one, under the rules that hold by default, recorded on the disk. */
async function createCall(library, { folder, run }) {
  const { rootScope } = await import(`${library}/event/context.js`)
  const { allRights } = await import(`${library}/event/permission.js`)
  const { createSources } = await import(`${library}/event/sources.js`)
  const { createEffects } = await import(`${library}/journal/effects.js`)
  const { openRun } = await import(`${library}/journal/store.js`)
  const { createPermission } = await import(`${library}/tool/permission.js`)
  const { toolRules } = await import(`${library}/tool/rule-list.js`)
  const { createToolbox } = await import(`${library}/tool/toolbox/toolbox.js`)
  const { openTools } = await import(`${library}/tool/toolbox/tools.js`)
  const rights = { ...allRights, rules: [toolRules()] }
  const folders = { workspace: folder, cwd: folder, packRoots: [] }
  const permissionOf = (given) => createPermission(given, folders)
  const permission = permissionOf(rights)
  const signal = new AbortController().signal
  const journal = await openRun({ folder: run, now: () => new Date() })
  const effects = createEffects({ journal, permission, signal, onSpent: () => undefined })
  const [tool] = await openTools(['grep'], createToolbox({ baseDir: folder }))
  let calls = 0
  return (path) => {
    const at = [{ kind: 'tool', index: calls++, name: 'grep' }]
    const services = { effects, permission, permissionOf, signal, env: { PATH: path }, sources: createSources([]) }
    const scope = rootScope({ runId: 'bench', version: '0', folders, rights, at })
    return tool.run(JSON.stringify({ pattern }), { scope, services })
  }
}

/**
 * Watches the turns of the event loop. The function that it gives ends that, and gives the longest one in milliseconds: of
 * processor time of this thread where the system tells it, so that other processes do not count.
 */
function watchTurns() {
  const now = process.platform === 'linux' ? threadTime : () => performance.now()
  let longest = 0
  let before = now()
  let next = setImmediate(turn)
  function turn() {
    const time = now()
    longest = Math.max(longest, time - before)
    before = time
    next = setImmediate(turn)
  }
  return () => {
    clearImmediate(next)
    return longest
  }
}

const statistics = `/proc/self/task/${process.pid}/schedstat`

function threadTime() {
  return Number(readFileSync(statistics, 'utf8').split(' ')[0]) / 1e6
}
