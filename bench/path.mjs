import { mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNode } from './child.mjs'
import { figure } from './rounds.mjs'
import { editCall, startModel } from './scripted-model.mjs'

/** Measured when a feature was spread over the most files. */
const earlier = {
  prompt: { files: 309, functions: 1647 },
  edit: { files: 331, functions: 1870 },
  script: { files: 202, functions: 915 },
}

/**
 * How much code a reader passes who follows one run: the source files of which a function was executed, and the different
 * functions. V8 counts them in the process and its threads. The command runs from the files that the compiler writes, one
 * per source file, because the bundled command has no source maps. Not counted: the code of a module outside its
 * functions, packages, and Node itself. Counts do not depend on the machine, so there is one round.
 */
export async function path({ command, folder, small }) {
  const compiled = realpathSync(join(dirname(command), '..'))
  writeFileSync(join(folder, 'hello.lua'), 'return nil\n')
  writeFileSync(join(folder, 'prompt.md'), '+++\nmodel = "bench"\nsub_agents = ["hello.lua"]\n+++\nSay hello.\n')
  writeFileSync(
    join(folder, 'edit.md'),
    '+++\nmodel = "bench"\ntools = ["edit"]\nwrite_mode = true\n+++\nCorrect note.txt.\n',
  )
  writeFileSync(join(folder, 'note.txt'), 'A line of a fil.\n')
  writeFileSync(join(folder, 'script.aip'), '# Output\n\n```lua\nreturn "ready"\n```\n')
  const answer = { words: ['It ', 'is ', 'ready.'] }
  const change = { calls: [editCall({ path: 'note.txt', old_text: 'fil.', new_text: 'file.' })] }
  const server = await startModel((round, request) =>
    request.includes('Correct note.txt') && round === 1 ? change : answer,
  )
  const executed = async (name) => {
    server.begin()
    const coverage = join(folder, `coverage-${name}`)
    mkdirSync(coverage)
    // the home folder cannot be a workspace in which files are changed
    const env = { HOME: join(folder, 'home'), BATON_GATEWAY_URL: server.url, NODE_V8_COVERAGE: coverage }
    const { stdout } = await runNode([join(compiled, 'main.js'), 'run', name], { folder, env })
    if (!stdout.includes('ready')) throw new Error(`${name} printed ${JSON.stringify(stdout)}`)
    return executedOf(coverage, compiled)
  }
  try {
    const script = figures('.aip file without a model', await executed('script.aip'), earlier.script)
    if (small) return script
    const prompt = figures('prompt with a Lua agent', await executed('prompt.md'), earlier.prompt)
    const edit = figures('prompt with an edit call', await executed('edit.md'), earlier.edit)
    if (!readFileSync(join(folder, 'note.txt'), 'utf8').includes('file.')) throw new Error('note.txt was not changed')
    return [...prompt, ...edit, ...script]
  } finally {
    server.stop()
  }
}

function figures(name, now, before) {
  return ['files', 'functions'].map((unit) =>
    figure(`${name}: ${now[unit]} ${unit}`, { of: `${before[unit]} earlier`, ratios: [now[unit] / before[unit]] }),
  )
}

/** What the coverage files of a process and its threads count, each function and file once. */
function executedOf(coverage, compiled) {
  const functions = new Set()
  const files = new Set()
  for (const name of readdirSync(coverage)) {
    for (const { url, functions: counted } of JSON.parse(readFileSync(join(coverage, name), 'utf8')).result) {
      const file = url.startsWith('file:') ? fileURLToPath(url) : ''
      if (!file.startsWith(compiled) || file.includes('node_modules')) continue
      for (const { functionName, ranges } of counted) {
        const [{ startOffset, endOffset, count }] = ranges
        // the module itself is reported as a function that starts where the file does
        if (count === 0 || (functionName === '' && startOffset === 0)) continue
        files.add(file)
        functions.add(`${file}:${startOffset}-${endOffset}`)
      }
    }
  }
  return { files: files.size, functions: functions.size }
}
