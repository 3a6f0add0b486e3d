// Long-running trials, of which `npm test` runs a part; exits with 1 if a guarantee did not hold.
//   npm run soak                 every fault at every point of docs/durability.md, about an hour on two cores
//   npm run soak -- F1           only faults whose line in the table contains this text
//   npm run soak -- F3 --seed 7  other random choices
//   npm run soak -- --every 4    every fourth point
//   npm run soak -- attack       every attempt of test/attack/, with their count by class
//   npm run soak -- series       every trial of the series in unit and end-to-end tests
//   npm run soak -- golden       every recorded run of test/fixtures/golden-runs/, killed after each of its records
//   npm run soak -- fuzz         a million inputs for each parser; add --count 5000 --seed 7 or part of a parser's name
//   npm run soak -- shell        100,000 command lines that rules for bash allow, each run in a sandbox and compared with
//                                what was allowed; add --count 5000 --seed 7
//   npm run soak -- slow         how long host functions take for hostile texts of 1 MB, on both engines; add part of
//                                a call to select calls
//   npm run soak -- serve        the load that `baton serve` must carry, with its figures; add --minutes 5 for a shorter end
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'

const options = {
  seed: { type: 'string' },
  every: { type: 'string' },
  count: { type: 'string' },
  minutes: { type: 'string' },
}
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const write = (text) => process.stdout.write(text)
const [kind, ...rest] = positionals

if (kind === 'attack') process.exitCode = await attack(rest)
else if (kind === 'series') process.exitCode = await series(rest)
else if (kind === 'golden')
  process.exitCode = await vitest(['test/slow/golden-runs.test.ts'], { BATON_GOLDEN: 'whole' })
else if (kind === 'fuzz') process.exitCode = await fuzz(rest)
else if (kind === 'shell') process.exitCode = await shell()
else if (kind === 'slow') process.exitCode = await slow(rest)
else if (kind === 'serve') process.exitCode = await serve()
else process.exitCode = await faults()

async function faults() {
  register()
  process.env['BATON_DURABLE'] = 'whole'
  const { soak } = await import('../test/durable/soak/soak.ts')
  const [seed, every] = [Number(values.seed ?? 1), Number(values.every ?? 1)]
  const broken = await soak({ only: positionals.join(' '), seed, every, write })
  return broken === 0 ? 0 : 1
}

/** The trials of test/helpers/series.ts; `names` limit it to test files whose path contains one of them. */
async function series(names) {
  const root = join(import.meta.dirname, '..')
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .filter(
      (name) => name.endsWith('.test.ts') && readFileSync(join(root, 'test', name), 'utf8').includes('/series.ts'),
    )
    .filter((name) => names.every((part) => name.includes(part)))
    .map((name) => join('test', name))
  return vitest(files, { BATON_SERIES: 'whole' })
}

/** `names` limit it to test files whose path contains one of them. */
async function attack(names) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-attack-'))
  const counts = join(folder, 'counts')
  writeFileSync(counts, '')
  const files = names.length === 0 ? ['test/attack'] : names.map((name) => `test/attack/${name}`)
  const code = await vitest(files, { BATON_ATTACK: 'whole', BATON_ATTACK_COUNTS: counts })
  const held = new Map()
  for (const line of readFileSync(counts, 'utf8').split('\n').filter(Boolean)) {
    const { name, held: more } = JSON.parse(line)
    held.set(name, (held.get(name) ?? 0) + more)
  }
  rmSync(folder, { recursive: true })
  for (const [name, number] of held) write(`${String(number).padStart(9)}  ${name}\n`)
  write(`${String([...held.values()].reduce((sum, number) => sum + number, 0)).padStart(9)}  attempts that held\n`)
  return code
}

async function vitest(files, more) {
  const program = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs')
  // a whole trial takes minutes
  const child = spawn(process.execPath, [program, 'run', '--testTimeout', '3600000', ...files], {
    env: { ...process.env, ...more },
    stdio: 'inherit',
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  return code ?? 1
}

/** Exits with 1 if a call takes more than 20 seconds, or more than two seconds and Ctrl-C does not stop it. */
async function slow(only) {
  register()
  const { slowInputs } = await import('./slow-inputs.mjs')
  return (await slowInputs({ only, write })) === 0 ? 0 : 1
}

/** Exits with 1 if runs were lost, or memory or latency grew. */
async function serve() {
  const { serveLoad } = await import('./serve-load.mjs')
  const [minutes, count] = [Number(values.minutes ?? 30), Number(values.count ?? 500)]
  return (await serveLoad({ minutes, count, write })) === 0 ? 0 : 1
}

/** Exits with 1 if a line ran a program that no rule allows, or one that a rule denies. */
async function shell() {
  register()
  const { fuzzShell } = await import('../test/helpers/shell-fuzz.ts')
  let [left, seed] = [Number(values.count ?? 100_000), Number(values.seed ?? 1)]
  let failed = 0
  write(`${row('seed', 'lines', 'run', 'effective', 'asked', 'wrong', 'missed')}`)
  for (; left > 0; left -= 10_000, seed += 1) {
    const report = fuzzShell({ run: Math.min(left, 10_000), seed })
    const { lines, run, effective, asked, wronglyAllowed, missed } = report
    failed += wronglyAllowed.length + missed.length
    write(row(seed, lines, run, effective, asked, wronglyAllowed.length, missed.length))
    for (const line of wronglyAllowed) write(`  allowed ${JSON.stringify(line)}\n`)
    for (const line of missed) write(`  not denied ${JSON.stringify(line)}\n`)
  }
  return failed === 0 ? 0 : 1
}

/** Runs each parser in a separate process. */
async function fuzz(names) {
  register()
  const { fuzzedParsers } = await import('../test/attack/fuzz/parsers.ts')
  const chosen = (await fuzzedParsers())
    .map(({ name }) => name)
    .filter((name) => names.every((part) => name.includes(part)))
  const [seed, count] = [String(values.seed ?? 1), String(values.count ?? 1_000_000)]
  const main = join(import.meta.dirname, 'fuzz.mjs')
  write(`seed ${seed}\n${row('parser', 'inputs', 'failures', 'slowest', 'memory', 'seconds')}`)
  let failed = 0
  for (const name of chosen) {
    const child = spawn(process.execPath, [main, name, seed, count], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece))
    await new Promise((resolve) => child.on('close', resolve))
    const report = JSON.parse(text)
    const { inputs, failures, slowestMs, slowest, megabytes, seconds } = report
    const tooMuch = megabytes > 512 ? 1 : 0
    failed += failures.length + tooMuch
    write(row(name, inputs, failures.length, `${Math.round(slowestMs)}ms #${slowest}`, `${megabytes}MB`, seconds))
    for (const { number, input, problem } of failures) write(`  #${number} ${JSON.stringify(input)}\n  ${problem}\n`)
  }
  return failed === 0 ? 0 : 1
}

function row(...cells) {
  const widths = [16, 10, 10, 18, 9, 8]
  return `${cells.map((cell, index) => String(cell).padEnd(widths[index])).join('')}\n`
}
