// node scripts/mcp-conformance.mjs [client|server] [text...] [--write]: runs the conformance suite of MCP from npm
// against the client and the server of Baton, and prints the results as a table. Exits with 1 if a failure is not
// expected by test/fixtures/mcp/conformance.yml, or an expected failure does not occur. Texts limit it to scenarios
// whose names contain one of them; --write writes the table to docs/mcp-conformance.md. Needs a built dist/; installs
// the suite, and a Node version that it runs on, into a separate folder.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { startScriptedModel } from '../test/fixtures/mcp/scripted-model.mjs'

const suite = '@modelcontextprotocol/conformance'
const suiteVersion = '0.2.0-alpha.12'
/** The newest two versions: a scenario for both is run with both. */
const versions = ['2025-11-25', '2026-07-28']

const root = join(import.meta.dirname, '..')
const fixtures = join(root, 'test/fixtures/mcp')
const [args, isWritten] = [process.argv.slice(2).filter((arg) => arg !== '--write'), process.argv.includes('--write')]
const sides = ['client', 'server'].filter((side) => !['client', 'server'].includes(args[0]) || args[0] === side)
const texts = args.filter((arg) => !sides.includes(arg))
const folder = mkdtempSync(join(tmpdir(), 'baton-conformance-'))
try {
  process.exitCode = await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function main() {
  const node = await install()
  const command = join(folder, 'node_modules', suite, 'dist/index.js')
  const run = (...options) => output(node, [command, ...options])
  const served = sides.includes('server') ? await serve() : undefined
  try {
    const results = []
    for (const side of sides) {
      const listed = scenariosIn((await run('list', `--${side}`)).text)
      const wanted = listed.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)))
      const works = wanted.flatMap(({ name, at }) => at.map((version) => ({ side, name, version })))
      results.push(...(await inTurns(works, (work) => runScenario(run, work, served?.url))))
    }
    return report(results)
  } finally {
    await served?.close()
  }
}

/** Returns the Node that the suite runs on: it needs 22. */
async function install() {
  const has = Number(process.versions.node.split('.')[0]) >= 22
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const packageOfNode = `node-${platform}-${process.arch}`
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const packages = [`${suite}@${suiteVersion}`, ...(has ? [] : [`${packageOfNode}@22`])]
  const { code, text } = await output('npm', ['install', '--no-audit', '--no-fund', '--no-save', ...packages], folder)
  if (code !== 0) throw new Error(`npm could not install ${packages.join(' and ')}:\n${text}`)
  return has ? process.execPath : join(folder, 'node_modules', packageOfNode, 'bin/node')
}

/** Lines like ` - tools-list [2025-06-18,2025-11-25]`; scenarios of extensions have no version. */
function scenariosIn(text) {
  return [...text.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].map(([, name, list]) => {
    const at = versions.filter((version) => list.split(',').includes(version))
    return { name, at: at.length === 0 ? [undefined] : at }
  })
}

async function runScenario(run, { side, name, version }, url) {
  const out = join(folder, 'results', `${side}-${name.replaceAll('/', '_')}-${version ?? ''}`)
  const subject =
    side === 'client'
      ? ['--command', `${process.execPath} ${join(import.meta.dirname, 'mcp-conformance-client.mjs')}`]
      : ['--url', url]
  const at = version === undefined ? [] : ['--spec-version', version]
  const { code, text } = await run(side, ...subject, '--scenario', name, ...at, '-o', out)
  const file = filesIn(out).find((one) => one.endsWith('checks.json'))
  const checks = file === undefined ? [] : JSON.parse(readFileSync(file, 'utf8'))
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length
  process.stderr.write(`${side} ${name} ${version ?? ''}: ${passed} passed, ${failed.length} failed\n`)
  if (code !== 0 && failed.length === 0) failed.push({ id: 'suite', errorMessage: text.slice(-2000) })
  for (const { id, errorMessage, description } of failed)
    process.stderr.write(`  ${id}: ${errorMessage ?? description}\n`)
  return { side, name, version, passed, failed: [...new Set(failed.map(({ id }) => id))] }
}

/** Prints the table; returns 1 if the results are not as expected. */
function report(results) {
  const expected = parse(readFileSync(join(fixtures, 'conformance.yml'), 'utf8'))
  const unexpected = []
  const seen = new Set()
  const rows = results.map(({ side, name, version, passed, failed }) => {
    const reasons = failed.map((id) => {
      const key = [name, `${name}:${id}`].find((one) => expected[side]?.[one] !== undefined)
      if (key === undefined) unexpected.push(`${side} ${name} ${version ?? ''}: ${id} fails`)
      else seen.add(`${side} ${key}`)
      return key === undefined ? 'unexpected' : expected[side][key]
    })
    return { side, name, version, passed, failed, reasons: [...new Set(reasons)] }
  })
  for (const side of sides) {
    const ran = new Set(rows.filter((row) => row.side === side).map(({ name }) => name))
    for (const key of Object.keys(expected[side] ?? {})) {
      const isRun = ran.has(key) || ran.has(key.slice(0, key.lastIndexOf(':')))
      if (isRun && !seen.has(`${side} ${key}`)) unexpected.push(`${side} ${key}: no longer fails`)
    }
  }
  const table = sides
    .map((side) =>
      tableOf(
        side,
        rows.filter((row) => row.side === side),
      ),
    )
    .join('\n')
  process.stdout.write(table)
  for (const line of unexpected) process.stdout.write(`UNEXPECTED ${line}\n`)
  if (isWritten && unexpected.length === 0) writeTable(table)
  return unexpected.length === 0 ? 0 : 1
}

function tableOf(side, rows) {
  const total = (name) => rows.reduce((sum, row) => sum + (name === 'passed' ? row.passed : row.failed.length), 0)
  const whole = rows.filter(({ passed, failed }) => passed > 0 && failed.length === 0).length
  const none = rows.filter(({ passed, failed }) => passed === 0 && failed.length === 0).length
  const head = `${rows.length} runs of scenarios: ${whole} passed, ${rows.length - whole - none} failed in part or whole as expected, ${none} had nothing to check; ${total('passed')} checks passed.`
  const lines = [...new Set(rows.map(({ name }) => name))].map((name) => {
    const own = rows.filter((row) => row.name === name)
    const at = (version) => cellOf(own.find((row) => row.version === version))
    return `| \`${name}\` | ${[...versions, undefined].map(at).join(' | ')} | ${[...new Set(own.flatMap(({ reasons }) => reasons))].join('; ')} |`
  })
  return [
    `## ${side === 'client' ? 'Client' : 'Server'}`,
    '',
    head,
    '',
    `| Scenario | ${versions.join(' | ')} | Other | Why it fails |`,
    '| --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n')
}

function cellOf(row) {
  if (row === undefined) return ''
  const { passed, failed } = row
  if (failed.length > 0) return `${passed} of ${passed + failed.length}`
  return passed === 0 ? 'nothing' : 'passed'
}

function writeTable(table) {
  const file = join(root, 'docs/mcp-conformance.md')
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, `${before.slice(0, before.indexOf('\n## ') + 1)}${table}`)
}

/**
 * `baton mcp serve` over fixtures, behind a proxy that adds the secret, because the suite cannot send one. Questions to
 * the user come from a tool that needs approval, which a scripted model calls, and from an MCP server.
 */
async function serve() {
  const cwd = join(folder, 'workspace')
  const home = join(folder, 'home')
  cpSync(join(fixtures, 'conformance'), cwd, { recursive: true })
  const asking = { command: process.execPath, args: [join(fixtures, 'stdio.mjs')] }
  mkdirSync(join(home, 'config'), { recursive: true })
  writeFileSync(join(home, 'config/config.toml'), '[permission]\ntodo = "ask"\n')
  // the ID of a question starts with the name of its server, and the suite looks for this one
  writeFileSync(join(home, 'config/mcp.json'), JSON.stringify({ mcpServers: { user_name: asking } }))
  const files = readdirSync(cwd).filter((file) => /\.(lua|md)$/.test(file))
  const model = await startScriptedModel()
  const secret = randomBytes(32).toString('base64url')
  const env = { ...process.env, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', BATON_MCP_SECRET: secret }
  const serving = spawn(
    process.execPath,
    [join(root, 'dist/bin/baton.js'), 'mcp', 'serve', ...files, '--port', '0', '--quiet'],
    { cwd, env: { ...env, BATON_GATEWAY_URL: model.url }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = new Promise((resolve) => serving.once('exit', resolve))
  const url = await new Promise((resolve, reject) => {
    serving.stdout.setEncoding('utf8').once('data', (text) => resolve(text.trim()))
    void ended.then((code) => reject(new Error(`baton mcp serve exited with code ${code}`)))
  })
  const proxy = createServer((incoming, response) => {
    const { method, headers } = incoming
    const options = { method, headers: { ...headers, authorization: `Bearer ${secret}` } }
    const onward = request(url, options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${proxy.address().port}/mcp`,
    async close() {
      proxy.closeAllConnections()
      proxy.close()
      serving.kill('SIGTERM')
      await ended
      model.close()
    },
  }
}

async function inTurns(works, run) {
  const results = []
  let next = 0
  const worker = async () => {
    while (next < works.length) {
      const index = next++
      results[index] = await run(works[index])
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return results
}

function filesIn(path) {
  return existsSync(path) ? readdirSync(path, { recursive: true }).map((file) => join(path, file)) : []
}

function output(command, options, cwd = folder) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, options, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, text }))
  })
}
