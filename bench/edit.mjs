import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { interleave } from './rounds.mjs'
import { createTools, stallFigure, watchTurns } from './tool-turns.mjs'

const line = 'const value = 1234 // a line of some length, as in code\n'
const megabyte = 1024 * 1024

/**
 * The tools `read`, `write` and `edit` on large files: the longest time during which the process can do nothing else.
 */
export async function edit({ library, folder: given, small }) {
  const folder = join(realpathSync(given), 'files')
  mkdirSync(folder)
  const call = await createTools(library, { folder, run: join(given, 'run') })
  const sizes = small ? [1] : [1, 4, 9]
  for (const size of sizes) {
    const half = line.repeat(Math.floor((size * megabyte) / 2 / line.length))
    writeFileSync(join(folder, `${size}.txt`), `${half}needle 0\n${half}`)
  }
  let count = 0

  async function stallOf(name, input) {
    // models send their arguments as text
    const given = JSON.stringify(input)
    await new Promise((passed) => setImmediate(passed))
    const longest = watchTurns()
    const { isError, text } = await call(name, given)
    if (isError === true) throw new Error(`${name} returned: ${text}`)
    return longest()
  }

  const cases = Object.fromEntries(
    sizes.flatMap((size) => {
      const path = `${size}.txt`
      return [
        [
          `read of ${size} MB`,
          () => stallOf('read', { path, offset: Math.floor((size * megabyte) / line.length) - 10 }),
        ],
        [
          `write of ${size} MB`,
          () =>
            stallOf('write', {
              path: `new-${count}.txt`,
              content: `${count++}\n${line.repeat((megabyte * size) / line.length)}`,
            }),
        ],
        [`edit of ${size} MB`, () => stallOf('edit', { path, old_text: 'needle', new_text: `${count++} needle` })],
      ]
    }),
  )
  // code that is loaded on first use does not count
  await call('edit', { path: 'first.txt', old_text: '', new_text: 'a\nb\n' })
  for (const warm of Object.values(cases)) await warm()
  const results = await interleave(cases, small ? 1 : 9)
  return Object.entries(results).map(([name, stalls]) => stallFigure(`${name}: longest stall`, stalls))
}
