import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  cache,
  changes,
  createWorld,
  fileNew,
  filePatch,
  promptFile,
  promptText,
  type World,
  type WorldOptions,
} from './world.ts'

const source = 'function greet() {\n  return 1;\n}\n'
const wrong = (word: string): string => filePatch('src/a.js', `@@\n ${word}_context\n-${word}_removed\n+${word}_added`)
const answer = changes(wrong('quux'), fileNew('src/b.js', 'export const b = 1;'))

function createRepairWorld(engine: WorldOptions['engine'], autoFix: string): World {
  const meta = `model: mock\nauto_fix: ${autoFix}\ncontext_globs: ["src/*.js"]`
  return createWorld({ 'src/a.js': source, [promptFile]: promptText(meta, 'Return 2.') }, { engine })
}

/** P05 and P08: a hunk that does not fit is passed to other models. */
export function repairScenarios(engine: WorldOptions['engine']): void {
  it('repairs a failed hunk with another model', async () => {
    const world = createRepairWorld(engine, 'fix')
    const run = await world.run(['mini@coder'], {
      mock: answer,
      fix: changes(filePatch('src/a.js', '@@\n function greet() {\n-  return 1;\n+  return 2;')),
    })
    expect(run.stderr).not.toContain('error')
    expect(run.code).toBe(0)
    expect(run.asked.map(({ model }) => model)).toEqual(['mock', 'fix'])
    expect(run.asked[1]?.text).toContain(`<failed-file path="src/a.js">\n${source}`)
    expect(run.asked[1]?.text).toContain('quux_removed')
    expect(world.read('src/a.js')).toBe(source.replace('1', '2'))
    expect(world.read('src/b.js')).toBe('export const b = 1;\n')
    expect(existsSync(join(world.folder, cache, 'repair'))).toBe(false)
    expect(existsSync(join(world.folder, cache, 'failed-changes.md'))).toBe(false)
    expect(run.stderr).toContain('Done: 1 file changed\nA → src/b.js (repaired)\n')
  })

  it('tries one model after the other, does not change the files and reports the rest', async () => {
    const world = createRepairWorld(engine, '{ model: "fix-a, fix-b", max_retries: 3 }')
    const run = await world.run(['mini@coder'], {
      mock: answer,
      'fix-a': changes(wrong('aaa')),
      'fix-b': changes(wrong('bbb')),
    })
    expect(run.code).toBe(0)
    expect(run.asked.map(({ model }) => model)).toEqual(['mock', 'fix-a', 'fix-b', 'fix-b'])
    expect(world.read('src/a.js')).toBe(source)
    expect(world.read('src/b.js')).toBe('export const b = 1;\n')
    expect(JSON.parse(world.read(`${cache}/repair/failed.json`))).toMatchObject({ paths: ['src/a.js'] })
    expect(world.read(`${cache}/failed-changes.md`)).toMatch(/^## src\/a\.js\n[\s\S]*bbb_removed/)
    expect(run.stderr).toContain('WARNING some changes could not be applied\n')
  })

  it('gives up at once when the model has no answer', async () => {
    const world = createRepairWorld(engine, 'fix')
    const run = await world.run(['mini@coder'], { mock: answer, fix: '' })
    expect(run.code).toBe(0)
    expect(run.asked.map(({ model }) => model)).toEqual(['mock', 'fix'])
    expect(run.stderr).toContain('WARNING some changes could not be applied\n')
  })
}
