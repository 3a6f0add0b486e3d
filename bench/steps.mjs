import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const workflow = `+++
[[workflow.step]]
id = "list"
agent = "./list.lua"

[[workflow.step]]
id = "each"
needs = ["list"]
for_each = "steps.list.output"
concurrency = 8
input = "{{item.text}} of {{index}}"
agent = "./one.lua"

[[workflow.step]]
id = "count"
needs = ["each"]
agent = "./count.lua"
+++
`

/**
 * Whether many items of a workflow step cost more CPU time per item, or more memory, than few. The cost per item is the
 * CPU time of a run minus that of a run with one item, divided by the number of items.
 */
export async function steps({ command, folder, small }) {
  const few = small ? 20 : 500
  const many = few * 4
  const results = await interleave({ one: measure(1), few: measure(few), many: measure(many) }, small ? 1 : 3)

  function measure(count) {
    const below = join(folder, `steps-${count}`)
    mkdirSync(below, { recursive: true })
    writeFileSync(join(below, 'steps.md'), workflow)
    writeFileSync(
      join(below, 'list.lua'),
      `local r = {} for i = 1, ${count} do r[i] = { text = "line " .. i } end return r\n`,
    )
    writeFileSync(join(below, 'one.lua'), 'return { text = input:upper(), size = #input }\n')
    writeFileSync(join(below, 'count.lua'), 'return #input .. " " .. input[#input].text\n')
    return async () => {
      const { cpu, peak, stdout } = await runCounted([command, 'run', join(below, 'steps.md')], { folder })
      if (stdout !== `${count} LINE ${count} OF ${count - 1}\n`) throw new Error(`steps.md printed ${stdout}`)
      return { cpu, peak }
    }
  }

  const timePerItem = (name, count) => results[name].map(({ cpu }, round) => (cpu - results.one[round].cpu) / count)
  const peaks = (name) => results[name].map(({ peak }) => peak)
  const label = many.toLocaleString('en-US')
  return [
    figure(`CPU time per item, ${label} items of a step`, {
      of: `${few} items`,
      ratios: quotients(timePerItem('many', many), timePerItem('few', few)),
      aim: { atMost: 1.2 },
    }),
    figure(`peak memory, ${label} items of a step`, {
      of: `${few} items`,
      ratios: quotients(peaks('many'), peaks('few')),
      aim: { atMost: 1.5 },
    }),
  ]
}
