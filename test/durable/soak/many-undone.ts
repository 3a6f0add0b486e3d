import { isDeepStrictEqual } from 'node:util'
import { snapshot } from '../../helpers/baton.ts'
import { type Disturbance, play, type Played, type PlayOptions } from '../../helpers/durable/play.ts'
import { makeWorldOf } from '../../helpers/durable/scenario.ts'
import { tempTree } from '../../helpers/temp.ts'
import type { Fault, Point, SoakContext } from './fault.ts'

const count = 5_000
/** Enough for the command itself, but not for the content of that many files. */
const heap = ['env', 'NODE_OPTIONS=--max-old-space-size=64']

const names = Array.from({ length: count }, (_, index) => `f/${index % 100}/${index}.txt`)
const script = `for i = 0, ${count - 1} do
  local path, kind = "f/" .. (i % 100) .. "/" .. i .. ".txt", i % 5
  if kind == 0 then aip.file.save(path, "changed " .. i)
  elseif kind == 1 then aip.file.delete(path)
  elseif kind == 2 then aip.file.move(path, "g/" .. (i % 50) .. "/" .. i .. ".txt")
  elseif kind == 3 then aip.file.append(path, "more\\n")
  else aip.file.save("new/" .. (i % 50) .. "/" .. i .. ".txt", "new " .. i) end
end
`
const files = {
  'baton.toml': '',
  'many.lua': script,
  // 20 kB each: together they do not fit into the heap
  ...Object.fromEntries(names.map((name) => [name, `${name}\n`.repeat(20_000 / (name.length + 1))])),
}

/** A run changes 5,000 files; it is undone, and the undo is undone. `disturb`: how the first undo is stopped. */
async function tryMany(disturb: Disturbance | undefined, { server }: Pick<SoakContext, 'server'>): Promise<Point> {
  const world = makeWorldOf(files, tempTree())
  const options: PlayOptions = { world, url: server.account().url, through: heap }
  const problems: string[] = []
  const look = (): ReturnType<typeof snapshot> => snapshot(world.workspace)
  const expectEnd = (what: string, { code, stderr }: Played): void => {
    if (code !== 0) problems.push(`I5: ${what} ends with exit ${code}: ${stderr}`)
  }
  const expectFiles = (what: string, want: ReturnType<typeof snapshot>): void => {
    const have = look()
    const other = [...new Set([...Object.keys(have), ...Object.keys(want)])].filter((path) => have[path] !== want[path])
    if (!isDeepStrictEqual(have, want)) problems.push(`I5: after ${what} ${other.length} differ, such as ${other[0]}`)
  }

  const before = look()
  const done = await play(['run', 'many.lua', '--json', '-c', 'lua.timeout=1h'], options)
  expectEnd('the run', done)
  const [, run = ''] = /"run_id":"([^"]+)"/.exec(done.stdout) ?? []
  const after = look()
  if (isDeepStrictEqual(after, before)) problems.push('I5: the run has changed nothing')
  let kills = 0
  if (disturb !== undefined && (await play(['undo', run], { ...options, disturb })).code === null) kills += 1
  expectEnd('the undo', await play(['undo', run], options))
  expectFiles('the undo', before)
  if (disturb === undefined) {
    expectEnd('the undo of the undo', await play(['undo', '-q'], options))
    expectFiles('the undo of the undo', after)
  }
  return { at: disturb === undefined ? 'undone twice' : JSON.stringify(disturb), problems, isHit: kills > 0 }
}

/** Larger than the scenario of the other faults, so it is tried at only a few points. */
export const manyUndone: Fault = {
  id: 'U2',
  name: 'a run that changes 5,000 files (100 MB) is undone and the undo undone, in a heap of 64 MB; SIGKILL at two places',
  async points(context) {
    const stops = [1_000, 6_000].map((at): Disturbance => ({ at, when: 'after', scope: 'workspace' }))
    const points: Point[] = []
    // one after the other: each has a separate folder of 100 MB
    for (const disturb of [undefined, ...stops]) {
      const point = await tryMany(disturb, context)
      context.onPoint(point)
      points.push(point)
    }
    return points
  },
}
