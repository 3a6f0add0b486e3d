import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave } from './rounds.mjs'
import { startServer } from './streams.mjs'

const promptOf = (globs) => `+++
model = "bench"
max_files_size_kb = 1000000
context_globs = ["${globs}"]
+++
Say a word.
`

/** Peak memory of a run with many context files, above that of a run with one, relative to their size. */
export async function context({ command, folder, small }) {
  const count = small ? 300 : 30_000
  const line = 'const value = compute(previous, next) // a line of some text\n'
  const content = line.repeat(66)
  for (let number = 0; number < count; number += 1) {
    if (number < 100) mkdirSync(join(folder, `src/${number}`), { recursive: true })
    writeFileSync(join(folder, `src/${number % 100}/f${number}.ts`), content)
  }
  writeFileSync(join(folder, 'many.md'), promptOf('src/**/*.ts'))
  writeFileSync(join(folder, 'one.md'), promptOf('src/0/f0.ts'))
  const server = startServer()
  try {
    const { port } = await server.answer()
    const env = { BATON_GATEWAY_URL: `http://127.0.0.1:${port}/v1` }
    const measure = (file) => async () => {
      await server.ask({ streams: 1, pieces: 1 })
      const { peak, stdout } = await runCounted([command, 'run', file], { folder, env })
      if (stdout.trim() !== 'word') throw new Error(`${file} printed ${stdout}`)
      return peak * 1024
    }
    const { many, one } = await interleave({ many: measure('many.md'), one: measure('one.md') }, small ? 1 : 3)
    const label = count.toLocaleString('en-US')
    return [
      figure(`memory for ${label} files as context`, {
        of: 'their bytes',
        ratios: many.map((peak, round) => (peak - one[round]) / (count * content.length)),
        aim: { atMost: 4 },
      }),
    ]
  } finally {
    server.stop()
  }
}
