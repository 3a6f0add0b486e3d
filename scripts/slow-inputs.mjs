// Measures how long host functions take for hostile texts, in the built command:
//   npm run soak -- slow [part of a call …]
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const command = join(import.meta.dirname, '../dist/bin/baton.js')
const megabyte = 1_000_000
/** A call that takes longer is reported, and Ctrl-C must stop it. */
const longMs = 2000
const engines = (process.env.BATON_SLOW_ENGINES ?? 'lua54,fengari').split(',')

/**
 * Prints each call with its slowest texts on both engines. Returns the number of calls that Ctrl-C does not stop, or
 * that take more than 20 s.
 */
export async function slowInputs({ only, write, length = megabyte }) {
  const { calls, looping, shapes, textOf, timing } = await import('../test/attack/slow-inputs.ts')
  const folder = mkdtempSync(join(tmpdir(), 'baton-slow-'))
  const names = Object.keys(shapes)
  for (const [index, name] of names.entries())
    writeFileSync(join(folder, `s${index}.txt`), textOf(shapes[name], length))
  const state = join(folder, 'state')
  mkdirSync(join(folder, 'home'))
  // what is changed
  writeFileSync(join(folder, 'out.txt'), 'a\n'.repeat(length / 2))
  let bad = 0
  const chosen = calls.filter((one) => only.every((part) => one.includes(part)))
  for (const engine of engines) {
    for (const call of chosen) {
      writeFileSync(join(folder, 'a.lua'), timing(call))
      const times = []
      let left = names.map((_, index) => `s${index}.txt`)
      while (left.length > 0) {
        // one after another: the call that hits the limit is the first one that was not printed
        const args = ['a.lua', '-i', left.join(','), '-c', `lua.engine=${engine}`, '-c', 'lua.timeout=25s']
        const begun = performance.now()
        const { stdout, stderr, code } = await run(args, { folder, state })
        const ms = Math.round(performance.now() - begun)
        const lines = stdout.split('\n').filter((line) => /^s\d+\.txt \d+$/.test(line))
        for (const line of lines) times.push([names[+/\d+/.exec(line)[0]], +line.split(' ')[1]])
        left = left.slice(lines.length)
        // the limit covers all calls of a process: only the first call of a process has the whole time for itself
        if (left.length === 0 || (code === 4 && lines.length > 0)) continue
        // the limit of time or memory ended it, whichever came first
        if (code === 4) times.push([names[+/\d+/.exec(left[0])[0]], ms])
        else write(`  ${call}: exit ${code} ${stderr.slice(0, 300)}\n`)
        left = left.slice(1)
      }
      times.sort((left, right) => right[1] - left[1])
      const slow = times.filter(([, ms]) => ms >= longMs)
      write(`${String(times[0]?.[1] ?? 0).padStart(6)} ms  ${engine.padEnd(8)} ${call}  (${times[0]?.[0]})\n`)
      for (const [name, ms] of slow) {
        writeFileSync(join(folder, 'b.lua'), looping(call))
        writeFileSync(join(folder, 't.txt'), textOf(shapes[name], length))
        const ended = await run(['b.lua', '-c', `lua.engine=${engine}`, '-c', 'lua.timeout=10m'], {
          folder,
          state,
          isInterrupted: true,
        })
        const isBad = ms > 20_000 || ended.isHung || ![4, 130].includes(ended.code)
        if (isBad) bad += 1
        write(`        ${ms} ms: ${name}; after Ctrl-C exit ${ended.isHung ? 'never' : ended.code}\n`)
      }
    }
  }
  rmSync(folder, { recursive: true })
  return bad
}

/** With `isInterrupted`, the process gets SIGINT two seconds after its first output. */
function run(args, { folder, state, isInterrupted }) {
  // nothing may be written to the real home folder
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), BATON_HOME: state, NO_COLOR: '1' }
  const child = spawn(process.execPath, [command, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr, isHung] = ['', '', false]
  child.stdout.setEncoding('utf8').on('data', (text) => {
    if (isInterrupted && stdout === '') interrupt()
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  let patience = setTimeout(kill, 900_000)
  function interrupt() {
    clearTimeout(patience)
    // so that it arrives during a call
    patience = setTimeout(() => {
      child.kill('SIGINT')
      patience = setTimeout(kill, 20_000)
    }, 2000)
  }
  function kill() {
    isHung = true
    child.kill('SIGKILL')
  }
  return new Promise((resolve) =>
    child.on('close', (code) => {
      clearTimeout(patience)
      resolve({ code, stdout, stderr, isHung })
    }),
  )
}
