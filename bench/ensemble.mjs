import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { startModel } from './scripted-model.mjs'

/**
 * Three members in the time of the slowest: from the first request to the end of the process, against the slowest
 * alone.
 */
export async function ensemble({ command, folder, small }) {
  const slowestMs = small ? 300 : 3_000
  const thinks = { fast: slowestMs / 3, middling: (slowestMs / 3) * 2, slowest: slowestMs }
  const model = await startModel((_, text) => {
    const { model: name } = JSON.parse(text)
    return { words: [`${name} says so`], thinksMs: thinks[name] }
  })
  const merge = 'merge.lua'
  writeFileSync(join(folder, merge), 'return #input.members .. " members"\n')

  /** The aggregator is the only other part, so that both do the same otherwise. */
  const measure = (names) => async () => {
    const file = `ensemble-${names.length}.md`
    const members = names.map((name) => `[[ensemble.agents]]\nmodel = "${name}"\n`).join('')
    writeFileSync(join(folder, file), `+++\n[ensemble]\naggregator = "${merge}"\n${members}+++\nWhat is it?\n`)
    model.begin()
    const env = { BATON_GATEWAY_URL: model.url, BATON_LOCAL_SERVERS: 'off' }
    const { endedAt, stdout } = await runNode([command, 'run', file], { folder, env })
    if (stdout !== `${names.length} members\n`) throw new Error(`${file} printed ${JSON.stringify(stdout)}`)
    return endedAt - model.firstAt()
  }
  try {
    const times = await interleave(
      { three: measure(Object.keys(thinks)), slowest: measure(['slowest']) },
      small ? 1 : 7,
    )
    return [
      figure('three members, whose slowest takes 3 s', {
        of: 'the slowest as the only member',
        ratios: quotients(times.three, times.slowest),
        aim: { atMost: 1.02 },
      }),
    ]
  } finally {
    model.stop()
  }
}
