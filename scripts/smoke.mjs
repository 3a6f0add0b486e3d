// node scripts/smoke.mjs FILE.tgz [NODE…]: installs a packed package in an empty folder, and tries its command, its library
// and its types there, with these major versions of Node (default: the oldest that is supported, and the two after it).
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const [packed, ...named] = process.argv.slice(2)
const majors = named.length > 0 ? named : ['20', '22', '24']
const command = 'node_modules/batonrun/dist/bin/baton.js'
const attempts = [
  { what: 'the version', args: [command, '--version'], expected: /^\d+\.\d+\.\d+\S*\nended with 0$/ },
  { what: 'a script', args: [command, 'run', 'add.lua'], expected: /^42\n[^]*ended with 0$/ },
  {
    what: 'a script in a thread',
    args: [command, 'run', 'add.lua', '-c', 'lua.isolated=true'],
    expected: /^42\n[^]*ended with 0$/,
  },
  { what: 'a prompt', args: [command, 'run', 'ask.md'], expected: /The lighthouse is white\.[^]*ended with 0$/ },
  { what: 'the library', args: ['library.mjs'], expected: /The lighthouse is white\.\nexit code 0\nended with 0$/ },
]
const folder = mkdtempSync(join(tmpdir(), 'baton-smoke-'))
const model = await startModel('The lighthouse is white.')
const env = {
  ...process.env,
  HOME: folder,
  BATON_HOME: join(folder, 'home'),
  OPENAI_API_KEY: 'for-a-scripted-model',
  OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`,
}
try {
  install(resolve(packed))
  checkTypes()
  for (const major of majors) {
    const node = nodeOf(major)
    for (const { what, args, expected } of attempts) {
      const output = await outputOf(node, args)
      if (!expected.test(output)) throw new Error(`${what} on Node ${major} printed:\n${output}`)
    }
    console.log(`Node ${major}: ${attempts.map(({ what }) => what).join(', ')}`)
  }
} finally {
  model.close()
  rmSync(folder, { recursive: true, force: true })
}

function install(tarball) {
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }\n')
  // the packages of the real home stay cached
  run('npm', ['install', '--no-audit', '--no-fund', tarball], process.env)
  writeFileSync(join(folder, 'ask.md'), '+++\nmodel = "openai::gpt-5"\n+++\n\nWhich color is the lighthouse?\n')
  writeFileSync(join(folder, 'add.lua'), 'print(40 + 2)\n')
  mkdirSync(join(folder, 'home'))
  writeFileSync(
    join(folder, 'library.mjs'),
    `import { run } from 'batonrun'
const ask = run('ask.md')
for await (const event of ask) if (event.type === 'answer') console.log(event.text)
const { exitCode } = await ask.result
console.log('exit code ' + exitCode)
`,
  )
}

/** A strict program that uses the library, with the compiler of this repository. */
function checkTypes() {
  const require = createRequire(import.meta.url)
  const types = dirname(dirname(require.resolve('@types/node/package.json')))
  const source = `import { BatonError, createConversations, run, type Run, type RunEvent } from 'batonrun'
const ask: Run = run('ask.md', { model: 'openai::gpt-5' })
for await (const event of ask) told(event)
const { exitCode }: { readonly exitCode: number } = await ask.result
// @ts-expect-error: there is no such option
run('ask.md', { modle: '' })
function told(event: RunEvent): string { return event.type === 'answer' ? event.text : event.type }
export const all = [BatonError, createConversations, exitCode]
`
  writeFileSync(join(folder, 'program.ts'), source)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--typeRoots', types]
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
  run(process.execPath, [tsc, ...options, '--types', 'node', 'program.ts'], env)
  console.log('types: a strict program compiles')
}

/** The executable of this major version of Node: this one, or that of the package `node`. */
function nodeOf(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  return run('npx', ['--yes', `node@${major}`, '-p', 'process.execPath'], process.env).trim()
}

function run(command, args, environment) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}${error ?? ''}`)
  return stdout
}

/** Not waited for by blocking: the scripted model answers in this process. */
function outputOf(node, args) {
  return new Promise((done, fail) => {
    const child = spawn(node, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
    child.on('error', fail)
    child.on('close', (code) => done(`${Buffer.concat(chunks).toString()}ended with ${code}`))
  })
}

/** A model server that always answers this text. */
function startModel(text) {
  const choice = (delta, finish) => ({ choices: [{ index: 0, delta, finish_reason: finish }] })
  const parts = [choice({ role: 'assistant', content: text }, null), choice({}, 'stop'), '[DONE]']
  const lines = parts.map((part) => `data: ${typeof part === 'string' ? part : JSON.stringify(part)}\n\n`)
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'text/event-stream').end(lines.join('')))
  })
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)))
}
