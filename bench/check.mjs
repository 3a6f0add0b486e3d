import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runCounted, runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const promptOf = (number) => `+++
model = "offline::extractive"
temperature = 0.${number % 10}
context_globs = ["src/*.ts"]
sub_agents = ["agents/a${number % 50}.aip", { name = "context-builder" }]

[params]
tone = "dry"
+++

Say what these files are for, number ${number}.
`

const agentOf = (number) => `# Data

\`\`\`lua
local text = input and input.coder_prompt or "nothing"
return { text = text, number = ${number} }
\`\`\`

# Output

\`\`\`lua
return { coder_prompt_append = "Number " .. data.number }
\`\`\`
`

/** Runs in a separate process, like the command. */
const plain = (toml) => `import { readFileSync } from 'node:fs'
import { parse } from ${JSON.stringify(toml)}
let keys = 0
for (const file of process.argv.slice(2)) {
  const [, block] = readFileSync(file, 'utf8').split('+++\\n')
  keys += Object.keys(parse(block)).length
}
console.log(keys)
`

/**
 * `baton check` of many prompt files that share 50 agents, against reading the same files with plain Node and parsing
 * their TOML; and its peak memory with many files against that with few.
 */
export async function check({ command, folder, small }) {
  const many = small ? 20 : 1_000
  const few = many / 10
  for (const name of ['agents', 'src']) mkdirSync(join(folder, name))
  for (let number = 0; number < 50; number += 1) writeFileSync(join(folder, `agents/a${number}.aip`), agentOf(number))
  for (let number = 0; number < 20; number += 1) writeFileSync(join(folder, `src/f${number}.ts`), 'export {}\n')
  const files = Array.from({ length: many }, (_, number) => `ask-${number}.md`)
  for (const [number, file] of files.entries()) writeFileSync(join(folder, file), promptOf(number))
  const toml = createRequire(import.meta.url).resolve('smol-toml')
  writeFileSync(join(folder, 'plain.mjs'), plain(pathToFileURL(toml).href))

  async function checked(count) {
    const { ms, peak, stdout } = await runCounted([command, 'check', ...files.slice(0, count)], { folder })
    const lines = stdout.trimEnd().split('\n')
    if (lines.length !== count || lines.some((line) => !line.startsWith('ok '))) {
      throw new Error(`baton check printed ${lines.length} lines, the last one is ${lines.at(-1)}`)
    }
    return { ms, peak }
  }

  async function read() {
    const { ms, stdout } = await runNode(['plain.mjs', ...files], { folder })
    if (stdout !== `${many * 5}\n`) throw new Error(`the reference read ${stdout.trim()} keys`)
    return { ms }
  }

  const results = await interleave({ many: () => checked(many), few: () => checked(few), read }, small ? 1 : 9)
  const numbers = (name, field) => results[name].map((result) => result[field])
  const label = many.toLocaleString('en-US')
  return [
    figure(`baton check, ${label} files`, {
      of: 'reading and parsing their TOML',
      ratios: quotients(numbers('many', 'ms'), numbers('read', 'ms')),
    }),
    figure(`peak memory, ${label} files`, {
      of: `${few.toLocaleString('en-US')} files`,
      ratios: quotients(numbers('many', 'peak'), numbers('few', 'peak')),
      aim: { atMost: 2 },
    }),
  ]
}
