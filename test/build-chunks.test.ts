import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './helpers/baton.ts'
import { tempTree, writeTree } from './helpers/temp.ts'

/** The text of a file that is no entry of the command after `tidyChunks`, for a chunk that is made of this input. */
function tidied(folder: string, input: string): string {
  const outputs = {
    'out/entry.js': { inputs: { 'src/main.ts': { bytesInOutput: 1 } } },
    'out/chunks/one.js': { inputs: { [input]: { bytesInOutput: 1 } } },
  }
  const script = `import { tidyChunks } from ${JSON.stringify(join(root, 'scripts/chunks.mjs'))}
tidyChunks(${JSON.stringify(outputs)}, ${JSON.stringify({ folder, entry: 'out/main.js' })})`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return readFileSync(join(folder, 'out/entry.js'), 'utf8')
}

it('the build drops imports of packages without side effects, wherever they are placed, and chunks that no file names', () => {
  const pure = '{"name": "pure", "sideEffects": false}'
  const parent = tempTree({
    'tree/src/main.ts': '',
    'tree/node_modules/pure/package.json': pure,
    'tree/node_modules/pure/esm/package.json': '{"type": "module"}',
    'tree/node_modules/pure/esm/a.js': '',
    'tree/node_modules/loud/package.json': '{"name": "loud"}',
    'tree/node_modules/loud/a.js': '',
    'node_modules/pure/package.json': pure,
    'node_modules/pure/a.js': '',
    'store/with a space/package.json': pure,
    'store/with a space/a.js': '',
  })
  const tree = join(parent, 'tree')
  symlinkSync('../../store/with a space', join(tree, 'node_modules/linked'))
  for (const [input, isDropped] of [
    ['src/main.ts', true],
    ['node_modules/pure/esm/a.js', true],
    ['../node_modules/pure/a.js', true],
    ['../store/with a space/a.js', true],
    ['node_modules/loud/a.js', false],
    ['plug-in:pure', false],
  ] as const) {
    writeTree(tree, { 'out/entry.js': 'import"./chunks/one.js";run();', 'out/chunks/one.js': '' })
    expect([input, tidied(tree, input)]).toEqual([input, isDropped ? 'run();' : 'import"./chunks/one.js";run();'])
    expect([input, existsSync(join(tree, 'out/chunks/one.js'))]).toEqual([input, !isDropped])
  }
})
