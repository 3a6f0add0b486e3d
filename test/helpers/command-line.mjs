// A program for tests of command agents: what it does is said by its first argument.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [what, ...args] = process.argv.slice(2)
const filler = `${'x'.repeat(1023)}\n`

async function read() {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function stay() {
  setInterval(() => {}, 1000)
}

const actions = {
  // what it was given
  async given() {
    const input = await read()
    const { env } = process
    process.stdout.write(`${JSON.stringify({ args, input, cwd: process.cwd(), env })}\n`)
  },
  async said() {
    process.stdout.write(`${(await read()).toUpperCase()}\n`)
  },
  // two of them, each of which ends when both are there
  async meet([folder]) {
    const own = await read()
    writeFileSync(join(folder, own), '')
    const other = () => readdirSync(folder).find((name) => name !== own)
    while (other() === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
    process.stdout.write(`${own} met ${other()}\n`)
  },
  // a recorded stream, and an exit code
  stream([file, code = '0']) {
    process.stdout.write(readFileSync(file, 'utf8'))
    process.exitCode = Number(code)
  },
  crash([code]) {
    process.stderr.write('reading the plan\nno plan was found\n')
    process.exitCode = Number(code)
  },
  // what it is starts a process of its own; both do not mind TERM
  hang([file]) {
    process.on('SIGTERM', () => {})
    const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
    const { pid } = spawn(process.execPath, ['-e', stubborn], { stdio: 'inherit' })
    writeFileSync(file, JSON.stringify([process.pid, pid]))
    process.stderr.write('still looking\n')
    stay()
  },
  // the same, and both do mind it
  family([file]) {
    const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
    writeFileSync(file, JSON.stringify([process.pid, pid]))
    stay()
  },
  // as claude: a conversation is the prompts in the folder, by its id, and goes on under another one
  async remembers([folder, ...flags]) {
    const resumed = flags.includes('--resume') ? flags[flags.indexOf('--resume') + 1] : undefined
    const before = resumed === undefined ? [] : JSON.parse(readFileSync(join(folder, resumed), 'utf8'))
    const prompts = [...before, flags.at(-1)]
    const session_id = `s${readdirSync(folder).length + 1}`
    writeFileSync(join(folder, session_id), JSON.stringify(prompts))
    const usage = { input_tokens: 1, output_tokens: 1 }
    const result = { type: 'result', subtype: 'success', result: `I heard ${prompts.join(', then ')}.`, usage }
    const events = [
      { type: 'system', subtype: 'init', session_id },
      { ...result, session_id, total_cost_usd: 0.01 },
    ]
    for (const event of events) process.stdout.write(`${JSON.stringify(event)}\n`)
  },
  wait([file]) {
    writeFileSync(file, JSON.stringify([process.pid]))
    stay()
  },
  flood() {
    const more = () => {
      while (process.stdout.write(filler.repeat(64)));
      process.stdout.once('drain', more)
    }
    more()
  },
  login() {
    process.stdout.write('Invalid API key · Please run /login\n')
  },
  nothing() {},
  // far more than a pipe holds, before it reads
  async chatty() {
    process.stdout.write(filler.repeat(2048))
    const input = await read()
    process.stdout.write(`${input.length} characters were read\n`)
  },
}

await actions[what](args)
