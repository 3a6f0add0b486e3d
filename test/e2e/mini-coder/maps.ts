import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
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

/** Moves the time of a file by seconds, like an editor that saves the same text. */
function touch(world: World, path: string, seconds: number): void {
  const time = new Date(Math.ceil(statSync(join(world.folder, path)).mtimeMs) + seconds * 1000)
  utimesSync(join(world.folder, path), time, time)
}

function microseconds(world: World, path: string): number {
  return Number(statSync(join(world.folder, path), { bigint: true }).mtimeNs / 1000n)
}

/** P03 and P11: files are described once, and again only when they change. */
export function mapScenarios(engine: WorldOptions['engine']): void {
  const meta =
    'model: mock\nwrite_mode: false\nsub_agents: [{ name: mini@coder/code-map, map_name: all, globs: ["src/*.js"], model: map }]'

  it('describes each file once, and does not ask again when only its time has changed', async () => {
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
    expect(touched?.mtime).toBe(microseconds(world, 'src/a.js'))
  })

  it('continues a stopped run, and keeps its notes when an answer cannot be parsed', async () => {
    const known = { mtime: 9_000_000_000_000_000, hash: 'h', note: { summary: 'Known.' } }
    const old = { mtime: 1, hash: 'h', note: { summary: 'Old.', names: ['f'] } }
    const world = createWorld(
      {
        'src/a.js': '1',
        'src/b.js': '2',
        'src/c.js': '3',
        'src/d.js': '4',
        [`${mapFolder}/all.json`]: JSON.stringify({
          files: { 'src/a.js': old, 'src/b.js': known, 'src/gone.js': known },
        }),
        [`${mapFolder}/all.progress.jsonl`]: `${JSON.stringify({ path: 'src/d.js', ...known })}\n`,
        [promptFile]: promptText(meta, 'Go.'),
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], {
      mock: 'ok',
      map: (asked) => (paths(asked, 'file-content')[0] === 'src/a.js' ? 'as before' : '<file_note>{bad</file_note>'),
    })
    expect(run.code).toBe(0)
    const asked = run.asked.filter(({ model }) => model === 'map')
    expect(asked.flatMap((request) => paths(request, 'file-content')).toSorted()).toEqual(['src/a.js', 'src/c.js'])
    const previous = '<previous-note>{"names":["f"],"summary":"Old."}</previous-note>'
    expect(asked.map(({ text }) => text.includes(previous)).toSorted()).toEqual([false, true])
    expect(run.stdout).toContain('No file_note for src/a.js\nas before\n')
    expect(run.stdout).toContain('The file_note for src/c.js is not JSON: ')
    expect(run.stderr).toContain('Code map: 1 same, 1 kept out\n')
    const { files } = readMap(world, 'all')
    expect(files).toEqual({
      'src/a.js': {
        ...old,
        path: 'src/a.js',
        mtime: expect.any(Number),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      'src/b.js': known,
      'src/d.js': { ...known, path: 'src/d.js' },
    })
    expect(files['src/a.js']?.mtime).toBe(microseconds(world, 'src/a.js'))
    expect(world.read(`${mapFolder}/all.json`)).toContain('"mtime": 9000000000000000')
  })

  it('uses absolute paths as keys in a map without a name, and removes deleted files', async () => {
    const unnamed = 'model: mock\nsub_agents: [{ name: mini@coder/code-map, globs: ["src/*.js"], model: map }]'
    const world = createWorld(
      { 'src/a.js': '1', 'src/b.js': '2', [promptFile]: promptText(unnamed, 'Go.') },
      { engine },
    )
    await world.run(['mini@coder'], { mock: 'ok', map: note })
    rmSync(join(world.folder, 'src/b.js'))
    const run = await world.run(['mini@coder'], { mock: 'ok', map: note })
    expect(run.asked.map(({ model }) => model)).toEqual(['mock'])
    const maps = readdirSync(join(world.folder, mapFolder)).filter((name) => name.endsWith('.json'))
    expect(maps).toEqual([expect.stringMatching(/^[0-9a-f]{12}\.json$/)])
    const map = readMap(world, maps[0]?.replace('.json', '') ?? '')
    expect(Object.keys(map.files)).toEqual([join(world.folder, 'src/a.js')])
  })

  it('selects the files of a request by their notes, running one agent inside another', async () => {
    const picking = `model: mock
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
        [promptFile]: promptText(picking, 'Do something with a.'),
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
  it('works for a prompt file of Baton: the request contains only the selected files, and its model is unchanged', async () => {
    const world = createWorld(
      {
        'src/a.js': 'text of a',
        'src/b.js': 'text of b',
        'lib/c.ts': 'text of c',
        'ask.md': `+++
model = "mock"
context_globs = ["src/*.js"]
sub_agents = [
  { name = "mini@coder/code-map", globs = ["lib/*.ts"], map_name = "lib", model = "map" },
  { name = "mini@coder/pick-files", model = "pick", map_model = "map" },
]
+++
Do something with a.
`,
      },
      { engine },
    )
    const pick = '<reason>it is about a</reason><needed_files>["src/a.js"]</needed_files>'
    const { code, asked, stdout } = await world.run(['ask.md'], { mock: 'ok', map: note, pick })
    expect([code, stdout]).toEqual([0, 'ok\n'])
    expect(asked.map(({ model }) => model)).toEqual(['map', 'map', 'map', 'pick', 'mock'])
    expect(asked.at(-1)?.text).toContain('text of a')
    expect(asked.at(-1)?.text).not.toMatch(/text of [bc]/)
  })
}
