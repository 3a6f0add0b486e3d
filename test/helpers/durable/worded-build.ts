import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../baton.ts'

/**
 * Makes a copy of the build in which the texts that models get are worded differently, as they may be in a later
 * version. Returns the folder, which has `main.js`.
 * @param words `one`: the first word of each text; `all`: each of its words
 */
export function wordedBuild(words: 'one' | 'all'): string {
  // inside the repository, so that packages are found
  const folder = join(root, `node_modules/.cache/worded-${words}-${process.pid}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const dist = join(folder, 'dist')
  cpSync(join(root, 'dist'), dist, {
    recursive: true,
    filter: (path) => !path.endsWith('.d.ts') && path !== join(root, 'dist/bin'),
  })
  for (const name of ['package.json', 'agents', 'pipelines', 'starters', 'docs']) {
    symlinkSync(join(root, name), join(folder, name))
  }
  const module = join(dist, 'base/model-text.js')
  const code = readFileSync(module, 'utf8').replace('export function modelText(', 'function ownText(')
  const pattern = String.raw`/(?<!\\)\b\p{L}{2,}\b/u${words === 'all' ? ' + "g"' : ''}`
  writeFileSync(
    module,
    `${code}
const changed = new WeakMap()
function reworded(strings) {
  let isChanged = false
  return strings.map((piece) =>
    piece.replaceAll(/\\p{L}{2,}/gu, (word) => {
      if (isChanged && ${words === 'one'}) return word
      isChanged = true
      return 'zz' + word
    }),
  )
}
export function modelText(strings, ...values) {
  if (!changed.has(strings)) changed.set(strings, reworded(strings))
  return ownText(changed.get(strings), ...values)
}
`,
  )
  void pattern
  return dist
}
