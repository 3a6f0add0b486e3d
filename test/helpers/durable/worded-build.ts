import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../baton.ts'

/** How each word begins that was changed. */
export const changedWord = 'zz'

/**
 * Makes a copy of the build in which each word of the texts that models get is another one, as in a later version.
 * Returns its folder, which has `main.js`, and `without-todo.js` for a version that no longer has the tool `todo`.
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
  const rows = join(dist, 'tool/toolbox/rows.js')
  const names = 'export const toolNames ='
  writeFileSync(rows, readFileSync(rows, 'utf8').replace(names, `delete rows[globalThis.goneTool]\n${names}`))
  writeFileSync(join(dist, 'gone-tool.js'), "globalThis.goneTool = 'todo'\n")
  writeFileSync(join(dist, 'without-todo.js'), "import './gone-tool.js'\nexport * from './main.js'\n")
  return dist
}

/** Copies the build to a folder of this name. Returns the copy of dist/, which has `main.js`. */
function copyBuild(name: string): string {
  // inside the repository, so that packages are found
  const folder = join(root, `node_modules/.cache/${name}-${process.pid}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const dist = join(folder, 'dist')
  cpSync(join(root, 'dist'), dist, {
    recursive: true,
    filter: (path) => !path.endsWith('.d.ts') && !['bin', 'lib'].some((name) => path === join(root, 'dist', name)),
  })
  for (const linked of ['package.json', 'agents', 'pipelines', 'starters', 'docs']) {
    symlinkSync(join(root, linked), join(folder, linked))
  }
  return dist
}
