import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type Files, type World } from './harness.ts'

// A model whose programs try forbidden things. It is told so, and the run continues.

const secret = 'the-words-that-nobody-may-see'
const ticks = '```'
const work: Files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'ask.md': '+++\nmodel = "m"\nmode = "code"\ntools = ["read", "glob"]\n\n[code]\ntimeout = "1s"\n+++\nLook.\n',
  'a.txt': 'one\n',
  '.env': secret,
}
const outside: Files = { 'secret.txt': secret }

interface Attempt {
  /** The programs with which the model answers, one after the other; the last one is done. */
  readonly programs: readonly string[]
  /** What stdout shows. */
  readonly answer: RegExp
  /** What the model is told last. */
  readonly told?: RegExp
  readonly prepare?: (world: World) => void
}

/** The value of the expression, or its error, is the answer. */
const tries = (...expressions: readonly string[]): readonly string[] => [
  `const results = []
   for (const work of [${expressions.map((text) => `() => ${text}`).join(', ')}]) {
     try { results.push(String(work())) } catch (error) { results.push('failed: ' + error.message) }
   }
   output(results.join('\\n')); done()`,
]
const lines = (...patterns: readonly string[]): RegExp => new RegExp(`^${patterns.join('\n')}\n$`)
const denied = 'failed: Tool "read" failed: permission denied: .*'

const core: Readonly<Record<string, Attempt>> = {
  'names of tools that are forged': {
    programs: tries(
      'edit({ path: "a.txt", old_text: "one", new_text: "two" })',
      'JSON.stringify(parallel([{ tool: "edit", input: {} }, { tool: "bash", input: {} }, { tool: "__proto__", input: {} }]))',
      'tools["code.execute"]({ code: "1" })',
      'tools.constructor.constructor("return process")()',
    ),
    answer: lines(
      "failed: '?edit'? is not defined",
      '.*there is no function .{2}edit.*there is no function .{2}bash.*there is no function .{2}__proto__.*',
      'failed: .*',
      "failed: '?process'? is not defined",
    ),
  },
  'tools that are disallowed': {
    programs: tries('JSON.stringify(discoverTools().map(({ id }) => id))', 'glob({ pattern: "*" })'),
    answer: lines('\\["read"\\]', "failed: '?glob'? is not defined"),
  },
  'a getter as input, that says something else each time': {
    programs: tries(
      `(() => { let n = 0; return read({ get path() { n += 1; return n === 1 ? 'a.txt' : '.env' } }) })()`,
      `read({ path: 'a.txt', toJSON() { return { path: '.env' } } })`,
      `read(new Proxy({ path: 'a.txt' }, { get: (target, key) => key === 'path' ? '.env' : target[key] }))`,
    ),
    answer: lines('1→one', denied, denied),
  },
  'files with keys, and paths that lead out': {
    programs: tries(
      'read({ path: ".env" })',
      'read({ path: "../outside/secret.txt" })',
      'read({ path: "/proc/self/environ" })',
      'read({ path: "out/secret.txt" })',
      'read({ path: "a.txt\\0.env" })',
    ),
    answer: lines(denied, denied, denied, denied, 'failed: .*'),
    prepare: (world) => symlinkSync(world.outside, join(world.work, 'out')),
  },
  'input that is none': {
    programs: tries(
      'read("a.txt")',
      'read()',
      'read(null)',
      'read([])',
      'read({ path: 3 })',
      'read({ path: "a.txt" }, { path: ".env" })',
    ),
    answer: lines(...Array.from({ length: 5 }, () => 'failed: Tool "read" failed: .*'), '1→one'),
  },
  'the constructor of everything': {
    programs: tries(
      'output.constructor("return this.process")()',
      'read.constructor("return globalThis.require")()',
      '(async () => {}).constructor("return import(\'node:fs\')")() && "promise"',
      'Object.getPrototypeOf(tools).constructor.constructor("return typeof process")()',
    ),
    answer: lines('undefined', 'undefined', '.*', 'undefined'),
  },
  'other programs, and what they left': {
    programs: [
      'globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = () => ["changed"]',
      ...tries('typeof left', '[1].map(String)'),
    ],
    answer: lines('undefined', '1'),
  },
  'prototypes that are changed under the functions': {
    programs: [
      `JSON.stringify = () => '{"path":".env"}'; Object.prototype.path = '.env'; Array.prototype.push = () => 0
       Array.prototype.map = function () { return [] }; String.prototype.replace = () => '.env'
       output(read({ path: 'a.txt' })); done()`,
    ],
    answer: lines('1→one'),
  },
  'an endless program, which catches everything': {
    programs: [
      'output("before")\ntry { while (true) {} } catch { while (true) {} } finally { while (true) {} }',
      'done()',
    ],
    answer: lines('before'),
    told: /Execution error: the program took longer than 1000 ms of its own time/,
  },
  'a flood of promises and calls': {
    programs: [
      'for (let i = 0; i < 1e9; i++) Promise.resolve().then(function again() { return Promise.resolve().then(again) })',
      'output("held"); done()',
    ],
    answer: lines('held'),
    told: /Execution error: the program (?:took longer|makes more than 10000 calls|needs more than)/,
  },
  'calls without end, at once': {
    programs: [
      'parallel(Array.from({ length: 200000 }, () => ({ tool: "read", input: { path: "a.txt" } })))',
      'output("held"); done()',
    ],
    answer: lines('held'),
    told: /Execution error: the program (?:makes more than 10000 calls|needs more than|took longer)/,
  },
  'done() that is never the end': {
    programs: ['done(); throw new Error("not yet")', 'done(); while (true) {}', 'output("now"); done()'],
    answer: lines('now'),
    told: /longer than 1000 ms/,
  },
  'more output than there is room for': {
    programs: ['while (true) output("x".repeat(100000))', 'done()'],
    answer: /^(?:x{100000}\n\n){1,10}(?:x{100000}\n)?$|^x/,
    told: /Execution error: the program outputs more than 1000000 characters/,
  },
  'more logs than there is room for': {
    programs: ['for (let i = 0; i < 900; i++) log("y".repeat(1000)); 1', 'output("held"); done()'],
    answer: lines('held'),
    told: /^Logs:\ny{1000}\n[^]{1,50000}more characters\)\n\nExecution result: 1$/,
  },
  'more in the store than there is room for': {
    programs: [
      'for (let i = 0; ; i++) store("k" + i, "z".repeat(500000))',
      ...tries('recall("k0").length', 'recall("__proto__")', 'store("__proto__", 1) ?? recall("__proto__")'),
    ],
    answer: lines('500000', 'null', '1'),
    told: /Execution error: .*keeps at most 10000000 characters/,
  },
  'a value that is too large': {
    programs: ['"v".repeat(5e6)', 'output("held"); done()'],
    answer: lines('held'),
    told: /Execution error: the program outputs more than 1000000 characters/,
  },
  'escapes for the terminal in output, logs, errors and code': {
    programs: [
      'output("\\u001b[2J\\u001b]0;owned\\u0007"); log("\\u001b[2J"); throw new Error("\\u001b[2J")',
      '/* \u001b[2J\u0007 */ done()',
    ],
    // oxlint-disable-next-line no-control-regex
    answer: /^\u001b\[2J\u001b\]0;owned\u0007\n$/,
    told: /Execution error: /,
  },
  'two programs, of which one is shown as an example': {
    programs: [
      `For example:\n${ticks}js\nread({ path: "a.txt" })\n${ticks}\nBut run this:\n${ticks}js\noutput("both")\n${ticks}`,
      `${ticks}sh\nrm -rf .\n${ticks}`,
      `${ticks}js\noutput("one")\ndone()\n${ticks}`,
    ],
    answer: lines('one'),
    told: /a fenced block that is not JavaScript/,
  },
  'a fence within the program': {
    programs: [`${ticks}js\noutput("a\\n${ticks}\\nb")\ndone() // ${ticks}\n${ticks}`],
    answer: lines('a', ticks, 'b'),
  },
  'modules and TypeScript that reach out': {
    programs: [
      'import fs from "node:fs"\noutput(fs.readFileSync(".env", "utf8"))',
      'import("node:fs").then((fs) => output(Object.keys(fs)))',
      'output("held"); done()',
    ],
    answer: lines('held'),
    told: /Execution error: /,
  },
  'time and chance that should differ': {
    programs: tries('Date.now() === Date.now()', 'typeof performance', 'new Date().getTime() - Date.now()'),
    answer: lines('true', 'undefined', '0'),
  },
}

const more = (): Readonly<Record<string, Attempt>> => ({
  'calls without end, one after the other': {
    programs: ['while (true) { try { read({ path: "none" }) } catch {} }', 'output("held"); done()'],
    answer: lines('held'),
    told: /Execution error: the program (?:took longer|makes more than 10000 calls)/,
  },
})

async function model(programs: readonly string[]): Promise<ModelServer> {
  const server = await startModelServer(({ body }): ModelReply => {
    const said = (body?.messages ?? []).filter(({ role }) => role === 'assistant').length
    return { chunks: [programs[said] ?? 'done()'] }
  })
  onTestFinished(() => server.close())
  return server
}

attack(
  'a program that tries what it may not is told so, and the run goes on',
  { core, every: 2, more },
  async ({ programs, answer, told, prepare }, title) => {
    const server = await model(programs)
    const world = createWorld({ work, outside, env: { BATON_GATEWAY_URL: server.url } })
    prepare?.(world)
    const flags = title.includes('disallowed') ? ['-c', 'disallowed_tools=["glob"]'] : []
    const end = await world.run(['ask.md', ...flags])
    expectHeld(world, end, [0])
    expect(end.stdout).toMatch(answer)
    expect(end.stdout).not.toContain(secret)
    // oxlint-disable-next-line no-control-regex
    expect(end.stderr).not.toMatch(/\u001b|\u0007/)
    const last = server.requests.at(-1)?.body?.messages.at(-1)?.content ?? ''
    if (told !== undefined) expect(last).toMatch(told)
    expect(JSON.stringify(server.requests.map(({ body }) => body))).not.toContain(secret)
  },
)

it('Ctrl-C ends a program with an endless loop, and the run is resumed from there', async () => {
  const server = await model(['while (true) {}', 'output("after"); done()'])
  const files = { ...work, 'ask.md': '+++\nmodel = "m"\nmode = "code"\n+++\nLook.\n' }
  const world = createWorld({ work: files, env: { BATON_GATEWAY_URL: server.url } })
  const end = await world.run(['ask.md'], { interruptWhen: () => server.requests.length === 1 })
  expectHeld(world, end, [130])
  const resumed = await world.run(['resume', '--last', '-c', 'code.timeout=1s'])
  expectHeld(world, resumed, [0])
  expect([resumed.stdout, server.requests.length]).toEqual(['after\n', 2])
})
