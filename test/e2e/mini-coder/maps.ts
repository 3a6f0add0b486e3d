import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Asked, createWorld, home, paths, promptFile, promptText, type World, type WorldOptions } from './world.ts'

interface FileMap {
  readonly files: {
    readonly [path: string]: {
      readonly mtime: number
      readonly hash: string
      readonly note?: { readonly summary: string }
    }
  }
}

const note = (asked: Asked): string =>
  `<file_note>\n\`\`\`json\n{ summary: "About ${paths(asked, 'file-content')[0]}", names: ["f",], }\n\`\`\`\n</file_note>`

const mapFolder = `${home}/.cache/code-map`

function readMap(world: World, name: string): FileMap {
  return JSON.parse(world.read(`${mapFolder}/${name}.json`)) as FileMap
}

/** Moves the time of a file by seconds, as an editor that saves the same text does. */
function touch(world: World, path: string, seconds: number): void {
  const time = new Date(Math.ceil(statSync(join(world.folder, path)).mtimeMs) + seconds * 1000)
  utimesSync(join(world.folder, path), time, time)
}

/** P03 and P11: files are described once, and again only when they change. */
export function mapScenarios(engine: WorldOptions['engine']): void {
  it('describes new and changed files alone, and keeps the map when an answer cannot be read', async () => {
    const meta =
      'model: mock\nwrite_mode: false\nsub_agents: [{ name: mini@coder/code-map, map_name: all, globs: ["src/*.js"], model: map }]'
    const world = createWorld({ 'src/a.js': '1', 'src/b.js': '2', [promptFile]: promptText(meta, 'Go.') }, { engine })
    const first = await world.run(['mini@coder'], { mock: 'ok', map: note })
    expect(first.code).toBe(0)
    expect(first.asked.map(({ model }) => model)).toEqual(['map', 'map', 'mock'])
    expect(first.stderr).toContain('Code map: 2 files (2 to ask about, 0 known)\nCode map: 2 created\n')
    const map = readMap(world, 'all')
    expect(Object.keys(map.files)).toEqual(['src/a.js', 'src/b.js'])
    expect(map.files['src/a.js']).toMatchObject({ note: { summary: 'About src/a.js', names: ['f'] } })
    expect(map.files['src/a.js']?.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(world.read(`${mapFolder}/all.json`)).toMatch(/"mtime": \d{16}[,\n]/)
    expect(world.read(`${mapFolder}/all.progress.jsonl`)).toBe('')

    touch(world, 'src/a.js', 5)
    const second = await world.run(['mini@coder'], { mock: 'ok' })
    expect(second.asked.map(({ model }) => model)).toEqual(['mock'])
    const touched = readMap(world, 'all').files['src/a.js']
    expect(touched).toEqual({ ...map.files['src/a.js'], mtime: touched?.mtime })
    expect(touched?.mtime).toBe(statSync(join(world.folder, 'src/a.js')).mtimeMs * 1000)

    writeFileSync(join(world.folder, 'src/a.js'), '11')
    touch(world, 'src/a.js', 9)
    writeFileSync(join(world.folder, 'src/c.js'), '3')
    const third = await world.run(['mini@coder'], {
      mock: 'ok',
      map: (asked) => (paths(asked, 'file-content')[0] === 'src/a.js' ? 'as before' : '<file_note>{bad</file_note>'),
    })
    expect(third.code).toBe(0)
    const again = third.asked.find((asked) => paths(asked, 'file-content')[0] === 'src/a.js')
    expect(again?.text).toContain('<previous-note>{"names":["f"],"summary":"About src/a.js"}</previous-note>')
    expect(third.stdout).toContain('No file_note for src/a.js\nas before\n')
    expect(third.stdout).toContain('The file_note for src/c.js is not JSON: ')
    expect(third.stderr).toContain('Code map: 1 same, 1 kept out\n')
    const last = readMap(world, 'all')
    expect(Object.keys(last.files)).toEqual(['src/a.js', 'src/b.js'])
    expect(last.files['src/a.js']?.note?.summary).toBe('About src/a.js')
    expect(last.files['src/a.js']?.hash).not.toBe(map.files['src/a.js']?.hash)
  })

  it('keys a map without a name by absolute paths, and drops files that are gone', async () => {
    const meta = 'model: mock\nsub_agents: [{ name: mini@coder/code-map, globs: ["src/*.js"], model: map }]'
    const world = createWorld({ 'src/a.js': '1', 'src/b.js': '2', [promptFile]: promptText(meta, 'Go.') }, { engine })
    await world.run(['mini@coder'], { mock: 'ok', map: note })
    rmSync(join(world.folder, 'src/b.js'))
    const run = await world.run(['mini@coder'], { mock: 'ok', map: note })
    expect(run.asked.map(({ model }) => model)).toEqual(['mock'])
    const maps = readdirSync(join(world.folder, mapFolder)).filter((name) => name.endsWith('.json'))
    expect(maps).toEqual([expect.stringMatching(/^[0-9a-f]{12}\.json$/)])
    const map = readMap(world, maps[0]?.replace('.json', '') ?? '')
    expect(Object.keys(map.files)).toEqual([join(world.folder, 'src/a.js')])
  })

  it('picks the files of a request by their notes, running one agent inside another', async () => {
    const meta = `model: mock
auto_context: { model: pick, map_model: map }
context_globs: ["src/**/*.*"]
context_globs_post: ["src/pinned.txt"]
knowledge_globs: ["docs/*.md"]`
    const world = createWorld(
      {
        'src/a.js': 'text of a',
        'src/b.js': 'text of b',
        'src/pinned.txt': 'text of pinned',
        'src/bin.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
        'docs/k.md': 'text of k',
        [promptFile]: promptText(meta, 'Do something with a.'),
      },
      { engine },
    )
    const pick = '<reason>it is about a</reason><needed_files>["src/a.js"]</needed_files>'
    const first = await world.run(['mini@coder'], { mock: 'ok', map: note, pick })
    expect(first.code).toBe(0)
    expect(first.asked.map(({ model }) => model)).toEqual(['map', 'map', 'map', 'pick', 'mock'])
    expect(first.asked[3]?.text).toContain(
      '- src/a.js: About src/a.js\n- src/b.js: About src/b.js\n- src/pinned.txt: About src/pinned.txt\n',
    )
    expect(first.asked.at(-1)?.text).toMatch(/text of k[\s\S]*text of a[\s\S]*text of pinned/)
    expect(first.asked.at(-1)?.text).not.toContain('text of b')
    expect(first.stdout).toContain('Context Files: 2 | Working Groups: 0 | Knowledge Files: 1')
    expect(first.stderr).toContain('Picked: 1 files: src/a.js\n')

    const second = await world.run(['mini@coder'], { mock: 'ok', pick })
    expect(second.asked.map(({ model }) => model)).toEqual(['pick', 'mock'])
    expect(second.stderr).toContain('Code map: 3 files (0 to ask about, 3 known)\n')
  })
}
