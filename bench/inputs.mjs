import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const agentOf = (count) => `# Before All

\`\`\`lua
local inputs = {}
for i = 1, ${count} do inputs[i] = { number = i, text = "line " .. i } end
return aip.flow.before_all_response({ inputs = inputs })
\`\`\`

# Data

\`\`\`lua
return { size = #input.text, upper = string.upper(input.text) }
\`\`\`

# Output

\`\`\`lua
return data.upper .. " " .. data.size
\`\`\`
`

/**
 * Whether many inputs cost more CPU time per input, or more memory, than few. The cost per input is the CPU time of a
 * run minus that of a run with one input, divided by the number of inputs.
 */
export async function inputs({ command, folder, small }) {
  const few = small ? 20 : 2_000
  const many = few * 5
  const results = await interleave({ one: measure(1), few: measure(few), many: measure(many) }, small ? 1 : 3)

  function measure(count) {
    const file = `inputs-${count}.aip`
    writeFileSync(join(folder, file), agentOf(count))
    return async () => {
      const { cpu, peak, stdout } = await runCounted([command, 'run', file], { folder })
      const lines = stdout.trimEnd().split('\n')
      if (lines.length !== count || !lines.at(-1).startsWith(`LINE ${count} `)) {
        throw new Error(`${file} printed ${lines.length} outputs, the last one is ${lines.at(-1)}`)
      }
      return { cpu, peak }
    }
  }

  const timePerInput = (name, count) => results[name].map(({ cpu }, round) => (cpu - results.one[round].cpu) / count)
  const peaks = (name) => results[name].map(({ peak }) => peak)
  const label = many.toLocaleString('en-US')
  const of = `${few.toLocaleString('en-US')} inputs`
  return [
    figure(`CPU time per input, ${label} inputs`, {
      of,
      ratios: quotients(timePerInput('many', many), timePerInput('few', few)),
      aim: { atMost: 1.2 },
    }),
    figure(`peak memory, ${label} inputs`, {
      of,
      ratios: quotients(peaks('many'), peaks('few')),
      aim: { atMost: 1.5 },
    }),
  ]
}
