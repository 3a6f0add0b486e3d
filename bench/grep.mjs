import { execFile } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { figure, interleave, quotients } from './rounds.mjs'
import { createTools, stallFigure, watchTurns } from './tool-turns.mjs'

const perFolder = 100
const pattern = 'needle \\d+ in'

/**
 * The tool `grep` over many small files, from the call to its recorded answer, through ripgrep and without it, against
 * ripgrep alone; and the longest time during which the process can do nothing else.
 */
export async function grep({ library, folder: given, small }) {
  const folder = join(realpathSync(given), 'tree')
  const many = small ? 400 : 20_000
  writeTree(folder, many)
  const { findProgram } = await import(`${library}/base/program.js`)
  const program = findProgram('rg', process.env, folder)
  const call = await createTools(library, { folder, run: join(given, 'run') })
  const expected = `[${many / 100} matching lines in ${many / 100} files]`

  async function tool(path) {
    const longest = watchTurns()
    const begun = performance.now()
    const { text } = await call('grep', { pattern }, { PATH: path })
    const ms = performance.now() - begun
    if (!text.endsWith(expected)) throw new Error(`grep returned: ${text.slice(-200)}`)
    return { ms, stall: await longest() }
  }

  async function alone() {
    const begun = performance.now()
    const { stdout } = await promisify(execFile)(program, ['--no-config', '--hidden', '-n', pattern, folder])
    if (stdout.split('\n').length !== many / 100 + 1) throw new Error('ripgrep found something different')
    return { ms: performance.now() - begun }
  }

  const cases = {
    own: () => tool(''),
    ...(program === undefined ? {} : { through: () => tool(process.env.PATH), alone }),
  }
  const results = await interleave(cases, small ? 1 : 9)
  const numbers = (name, field) => results[name].map((result) => result[field])
  const label = `${many.toLocaleString('en-US')} files`
  const stalls = (name, title) => stallFigure(`${title}: longest stall, ${label}`, numbers(name, 'stall'))
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
