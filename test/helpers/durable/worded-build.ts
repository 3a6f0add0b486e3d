import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyBuild } from '../changed-build.ts'

/** How each word begins that was changed. */
export const changedWord = 'zz'

/**
 * Makes a copy of the build in which each word of the texts that models get is another one, as in a later version.
 * Returns its folder, which has `main.js`.
 */
export function wordedBuild(): string {
  const dist = copyBuild('worded')
  const module = join(dist, 'base/model-text.js')
  const code = readFileSync(module, 'utf8').replace('export function modelText(', 'function ownText(')
  writeFileSync(
    module,
    `${code}
const changed = new WeakMap()
const reworded = (strings) =>
  strings.map((piece) => piece.replaceAll(/\\p{L}{2,}/gu, (word) => '${changedWord}' + word))
export function modelText(strings, ...values) {
  if (!changed.has(strings)) changed.set(strings, reworded(strings))
  return ownText(changed.get(strings), ...values)
}
`,
  )
  return dist
}
