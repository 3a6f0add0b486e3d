import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type World } from './harness.ts'

const work = {
  'baton.toml': '[runs]\ndir = ".runs"\n',
  'write.lua': 'aip.file.save("out.txt", "written")\naip.file.load("need.txt")\nreturn "done"\n',
}

function runsIn(world: World): string {
  const [workspace = ''] = readdirSync(join(world.work, '.runs'))
  return join(world.work, '.runs', workspace)
}

function idIn(world: World): string {
  return readdirSync(runsIn(world)).find((name) => /^\d{8}-\d{6}-/.test(name)) ?? ''
}

/** A workspace with a failed run, as this user has recorded it. */
async function recorded(): Promise<World> {
  const world = createWorld({ work })
  await world.run(['trust', 'baton.toml'])
  const end = await world.run(['write.lua', '-q'])
  expect([end.code, readFileSync(join(world.work, 'out.txt'), 'utf8')]).toEqual([1, 'written'])
  return world
}

/** Rewrites the lines of a journal, each with its checksum. */
function rewrite(world: World, change: (json: string) => string): void {
  const file = join(runsIn(world), idIn(world), 'j-000001.jsonl')
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => change(line.slice(9)))
  writeFileSync(file, lines.map((json) => `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`).join(''))
}

const commands: Readonly<Record<string, (id: string) => readonly string[]>> = {
  resumed: (id) => ['resume', id],
  'resumed with --repair': (id) => ['resume', id, '--repair'],
  'resumed with what is there now': (id) => ['resume', id, '--use-current'],
  undone: (id) => ['undo', id],
  'undone as the newest': () => ['undo'],
  replayed: (id) => ['run', '--replay', id],
}

attack('a run that comes with a folder is not', { core: commands, every: 2 }, async (argsOf) => {
  const other = await recorded()
  // the folder is given to someone else, with its runs
  const world = createWorld({ work })
  await world.run(['trust', 'baton.toml'])
  // so that this installation has a key, and the workspace has a folder of runs
  await world.run(['write.lua', '-q'])
  const id = idIn(world)
  rmSync(join(runsIn(world), id), { recursive: true })
  cpSync(join(runsIn(other), idIn(other)), join(runsIn(world), id), { recursive: true })
  writeFileSync(join(world.work, 'out.txt'), 'mine')
  const end = await world.run([...argsOf(id)])
  expect(end.stderr).toMatch(/was not recorded by this installation|no run of this workspace has changed files/)
  expectHeld(world, end, [2, 6])
  expect(readFileSync(join(world.work, 'out.txt'), 'utf8')).toBe('mine')
})

const marker = 'foreign'
const changes: Readonly<Record<string, (json: string) => string>> = {
  'the script that is executed': (json) =>
    json.replaceAll('aip.file.load(\\"need.txt\\")', `aip.file.save(\\"out.txt\\", \\"${marker}\\")`),
  'the hash of what a file held': (json) => json.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${'0'.repeat(64)}"`),
  'where a file is': (json) => json.replaceAll('out.txt', 'baton.toml'),
}

attack(
  'a run of one’s own whose record was changed is not carried out',
  { core: changes, every: 2 },
  async (change) => {
    const world = await recorded()
    const id = idIn(world)
    rewrite(world, change)
    writeFileSync(join(world.work, 'need.txt'), '')
    const settings = readFileSync(join(world.work, 'baton.toml'), 'utf8')
    for (const args of [
      ['resume', id],
      ['undo', id],
      ['run', '--replay', id],
      ['resume', id, '--repair'],
    ]) {
      const end = await world.run(args)
      expect([args, end.code === 0, end.stderr]).toEqual([args, false, expect.stringContaining('error')])
    }
    expect(readFileSync(join(world.work, 'out.txt'), 'utf8')).toBe('written')
    expect(readFileSync(join(world.work, 'baton.toml'), 'utf8')).toBe(settings)
  },
)

describe('the key of an installation', () => {
  const mode = (path: string): number => statSync(path).mode & 0o777

  it('is created once by several concurrent first runs, with private permissions, and makes the state folder private', async () => {
    const world = createWorld({ work: { 'write.lua': work['write.lua'] } })
    mkdirSync(join(world.state, 'state'), { recursive: true, mode: 0o755 })
    const ends = await Promise.all([1, 2, 3, 4].map(() => world.run(['write.lua', '--json'])))
    const ids = ends.map(({ stdout }) => /"run_id":"([^"]+)"/.exec(stdout)?.[1] ?? '')
    expect(new Set(ids).size).toBe(4)
    expect([mode(join(world.state, 'state')), mode(join(world.state, 'state/run-key'))]).toEqual([0o700, 0o600])
    writeFileSync(join(world.work, 'need.txt'), '')
    for (const id of ids) expect(await world.run(['resume', id, '-q'])).toMatchObject({ code: 0 })
  })

  it('makes runs foreign if it is lost, which is reported, as is an invalid key', async () => {
    const world = createWorld({ work: { 'write.lua': work['write.lua'] } })
    const first = await world.run(['write.lua', '--json'])
    const id = /"run_id":"([^"]+)"/.exec(first.stdout)?.[1] ?? ''
    expect((await world.run(['runs'])).stderr).not.toContain('not recorded')
    const key = join(world.state, 'state/run-key')
    rmSync(key)
    expect((await world.run(['runs'])).stderr).toContain(`not recorded by this installation, view only: ${id}`)
    expect(await world.run(['resume', id])).toMatchObject({ code: 6, stderr: expect.stringContaining('the key') })
    writeFileSync(key, 'none')
    const end = await world.run(['write.lua'])
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('it does not contain a key') })
    expect(await world.run(['resume', id])).toMatchObject({ code: 1, stderr: expect.stringContaining('run-key') })
  })
})

const endless = {
  'saves a file': 'aip.file.save("out.txt", "round " .. i)',
  'saves a file, and holds on to errors': 'pcall(function() aip.file.save("out.txt", "round " .. i) end)',
  'makes ids': 'aip.uuid.new()',
  pins: 'aip.run.pin("name", 0, "round " .. i)',
  'reads a large file': 'aip.file.load("large.txt")',
}

const ends: Readonly<Record<string, { readonly script: string; readonly code: number; readonly left: number }>> = {
  'nothing is written': { script: 'return aip.file.load("a.txt").content', code: 0, left: 0 },
  'all that was written is deleted': {
    script: 'aip.file.save("made.txt", "x") aip.file.delete("made.txt") return 1',
    code: 0,
    left: 0,
  },
  'a file is written': { script: 'aip.file.save("made.txt", "x") return 1', code: 0, left: 1 },
}

attack('a replay leaves nothing but what it names', { core: ends }, async ({ script, code, left }) => {
  const world = createWorld({ work: { 'a.lua': script, 'a.txt': 'a' }, home: { 'tmp/.keep': '' } })
  const env = { TMPDIR: join(world.home, 'tmp') }
  expect((await world.run(['a.lua', '--record', 'a.cassette'], { env })).code).toBe(code)
  rmSync(join(world.work, 'made.txt'), { force: true })
  const end = await world.run(['run', '--replay', 'a.cassette'], { env })
  expect(end.code).toBe(code)
  const scratch = readdirSync(env.TMPDIR).filter((name) => name !== '.keep')
  expect(scratch).toHaveLength(left)
  for (const name of scratch) {
    expect(end.stderr).toContain(name)
    expect(statSync(join(env.TMPDIR, name)).mode & 0o777).toBe(0o700)
  }
})

it('a replay that is interrupted twice, or differs, leaves only files that it names', async () => {
  const wait = 'aip.file.save("made.txt", "x") '
  const world = createWorld({ work: { 'a.lua': `${wait}return 1` }, home: { 'tmp/.keep': '' } })
  const env = { TMPDIR: join(world.home, 'tmp') }
  expect((await world.run(['a.lua', '--record', 'a.cassette'], { env })).code).toBe(0)
  const left = (): readonly string[] => readdirSync(env.TMPDIR).filter((name) => name !== '.keep')
  writeFileSync(join(world.work, 'a.lua'), `${wait}while true do end`)
  const end = await world.run(['run', '--replay', 'a.cassette'], { env, interruptTwiceWhen: () => left().length > 0 })
  expect([end.isHung, end.code]).toEqual([false, 130])
  writeFileSync(join(world.work, 'a.lua'), `${wait}aip.cmd.exec("true") return 1`)
  const other = await world.run(['run', '--replay', 'a.cassette'], { env })
  for (const name of left()) expect(`${end.stderr}${other.stderr}`).toContain(name)
})

attack('a script does not fill the disk with its record when it', { core: endless, every: 3 }, async (step) => {
  const loop = `aip.cmd.exec("sh", {"-c", "echo once >> ran.txt"})\nfor i = 1, 1000 do ${step} end\nreturn "ended"\n`
  const world = createWorld({
    work: { 'baton.toml': work['baton.toml'], 'loop.lua': loop, 'large.txt': 'x'.repeat(5000) },
  })
  await world.run(['trust', 'baton.toml'])
  const end = await world.run(['loop.lua', '-c', 'runs.max_size=100kb', '--json'])
  const id = idIn(world)
  const last: unknown = JSON.parse(end.stdout.trimEnd().split('\n').at(-1) ?? '')
  expect(last).toMatchObject({
    type: 'run.failed',
    stop_reason: 'limit',
    exit_code: 4,
    error: { code: 'RUN_TOO_LARGE', hint: expect.stringContaining(`baton resume ${id} -c runs.max_size=`) },
  })
  expectHeld(world, end, [4])
  const folder = join(runsIn(world), id)
  const size = (): number =>
    readdirSync(folder, { recursive: true }).reduce((sum, name) => sum + statSync(join(folder, String(name))).size, 0)
  // plus the ends of effects that had started
  expect(size()).toBeLessThan(150 * 1024)
  expect(await world.run(['resume', id, '-q'])).toMatchObject({ code: 4 })
  expect(await world.run(['resume', id, '-c', 'runs.max_size=1gb'])).toMatchObject({ code: 0, stdout: 'ended\n' })
  expect(readFileSync(join(world.work, 'ran.txt'), 'utf8')).toBe('once\n')
})
