import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Fails if one of our modules uses a constant of a module that comes after it in its chunk. In the command, such a
 * constant is silently undefined, because the bundle turns every top-level `const` into a `var`. So the same chunks are
 * built unminified, their constants become `let` again, and all of them are loaded once, in a separate process.
 */
export async function checkLoadOrder(options, folder) {
  const { outputFiles } = await build({ ...options, minifyWhitespace: false, write: false })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'chunks'), { recursive: true })
  const chunks = outputFiles.filter(({ path }) => basename(dirname(path)) === 'chunks')
  for (const { path, text } of chunks) writeFileSync(join(folder, 'chunks', basename(path)), strict(text))
  // chunks have no circular dependencies, so the order of loading them does not matter
  const all = chunks.map(({ path }) => `await import(${JSON.stringify(`./chunks/${basename(path)}`)})\n`).join('')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'all.js'), all)
  const loaded = spawnSync(process.execPath, [join(folder, 'all.js')], { encoding: 'utf8', timeout: 60_000 })
  if (loaded.status !== 0) {
    const file = pathToFileURL(folder).href
    throw new Error(`a module is used before it is loaded (chunks in ${file}):\n${loaded.stderr}${loaded.error ?? ''}`)
  }
  rmSync(folder, { recursive: true })
}

/** Only in our own code: a package may declare a name twice. */
function strict(text) {
  let isOurs = false
  const lines = text.split('\n').map((line) => {
    const [, source] = /^\/\/ (\S+[/:]\S+)$/.exec(line) ?? []
    if (source !== undefined) isOurs = source.startsWith('src/')
    return isOurs ? line.replace(/^var /, 'let ') : line
  })
  // packages with CommonJS code call require for Node's built-in modules
  return `const require = process.getBuiltinModule;\n${lines.join('\n')}`
}
