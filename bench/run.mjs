// node bench/run.mjs [name...] [--small]: prints ratios against named references (README.md). Needs a built dist/.
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { aip } from './aip.mjs'
import { cached } from './cached.mjs'
import { calls } from './calls.mjs'
import { changes } from './changes.mjs'
import { check } from './check.mjs'
import { code } from './code.mjs'
import { collab } from './collab.mjs'
import { context } from './context.mjs'
import { durable } from './durable.mjs'
import { edit } from './edit.mjs'
import { ensemble } from './ensemble.mjs'
import { bash } from './bash.mjs'
import { grep } from './grep.mjs'
import { inputs } from './inputs.mjs'
import { cpu } from './lua-cpu.mjs'
import { iterate } from './iterate.mjs'
import { lua } from './lua.mjs'
import { mcp } from './mcp.mjs'
import { path } from './path.mjs'
import { resume } from './resume.mjs'
import { formatFigure } from './rounds.mjs'
import { runs } from './runs.mjs'
import { serve } from './serve.mjs'
import { start } from './start.mjs'
import { steps } from './steps.mjs'
import { streams } from './streams.mjs'
import { subagents } from './subagents.mjs'
import { tools } from './tools.mjs'
import { turns } from './turns.mjs'
import { watch } from './watch.mjs'

const benchmarks = {
  start,
  inputs,
  steps,
  context,
  streams,
  tools,
  cached,
  calls,
  lua,
  code,
  cpu,
  aip,
  changes,
  watch,
  check,
  durable,
  turns,
  resume,
  runs,
  iterate,
  ensemble,
  collab,
  subagents,
  grep,
  edit,
  bash,
  mcp,
  serve,
  path,
}
const { small, names } = readArguments(process.argv.slice(2))
const dist = join(dirname(import.meta.dirname), 'dist')
const command = join(dist, 'bin/baton.js')
if (!existsSync(command)) stop(`${command} is missing; run npm run build`)

for (const name of names) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')))
  try {
    const figures = await benchmarks[name]({ command, library: pathToFileURL(dist).href, folder, small })
    for (const line of figures) console.log(formatFigure(name, line))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readArguments(args) {
  const known = Object.keys(benchmarks)
  const named = args.filter((arg) => arg !== '--small')
  const unknown = named.find((name) => !known.includes(name))
  if (unknown !== undefined) stop(`no benchmark ${unknown}; the benchmarks are ${known.join(', ')}`)
  return { small: args.includes('--small'), names: named.length === 0 ? known : named }
}

function stop(message) {
  console.error(message)
  process.exit(2)
}
