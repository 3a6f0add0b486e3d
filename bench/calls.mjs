import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { readCall, startModel } from './scripted-model.mjs'

/**
 * Calls of a tool that reads a file, made by a program in code mode, against the same calls in one answer in classic
 * mode. The time runs from the first request to the end of the client, so it includes starting the JavaScript box.
 */
export async function calls({ command, folder, small }) {
  const count = small ? 10 : 500
  writeFileSync(join(folder, 'note.txt'), 'A line of a file that is read.\n'.repeat(20))
  const models = {
    classic: await startModel((round) => (round === 1 ? { calls: readCalls(count) } : { words: ['All is read.'] })),
    loop: await startModel(() => ({
      words: [
        `for (let i = 1; i <= ${count}; i++) read({ path: 'note.txt', limit: i })\noutput('All is read.'); done()`,
      ],
    })),
    parallel: await startModel(() => ({
      words: [
        `parallel(Array.from({ length: ${count} }, (_, i) => ({ tool: 'read', input: { path: 'note.txt', limit: i + 1 } })))\noutput('All is read.'); done()`,
      ],
    })),
  }
  for (const name of Object.keys(models)) {
    const mode = name === 'classic' ? 'classic' : 'code'
    writeFileSync(
      join(folder, `${name}.md`),
      `+++\nmodel = "bench"\nmode = "${mode}"\ntools = ["read"]\n+++\nRead all files.\n`,
    )
  }
  const measure = (name) => async () => {
    const { url, begin, firstAt } = models[name]
    begin()
    const env = { BATON_GATEWAY_URL: url }
    const { endedAt, stdout } = await runCounted([command, 'run', `${name}.md`], { folder, env })
    if (!stdout.includes('All is read.')) throw new Error(`${name} printed ${stdout}`)
    return endedAt - firstAt()
  }
  try {
    const results = await interleave(
      { classic: measure('classic'), loop: measure('loop'), parallel: measure('parallel') },
      small ? 1 : 5,
    )
    const of = `the same ${count} calls in one answer of classic mode`
    return [
      figure(`${count} calls of a tool in parallel() of a program`, {
        of,
        ratios: quotients(results.parallel, results.classic),
      }),
      figure(`${count} calls of a tool in a loop of a program`, {
        of,
        ratios: quotients(results.loop, results.classic),
      }),
    ]
  } finally {
    for (const { stop } of Object.values(models)) stop()
  }
}

/** Each reads a different part, so that no call is repeated. */
function readCalls(count) {
  return Array.from({ length: count }, (_, index) => readCall({ index, limit: index + 1 }))
}
