import { expect } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld } from './harness.ts'
import { calls, looping, shapes, textOf } from './slow-inputs.ts'

const megabyte = 1_000_000
const names = Object.keys(shapes)

/** Calls, one of each kind, with a text that is bad for them. */
const worst: Readonly<Record<string, readonly [string, string]>> = {
  'HTML as Markdown': ['aip.html.to_md(t)', 'elements in a wrong order'],
  YAML: ['aip.yaml.parse(t)', 'keys in keys'],
  templates: ['aip.hbs.render(t, { a = { 1, 2, 3 } })', 'blocks of templates'],
  globs: ['aip.path.matches_glob(t, "**/*a*b*/**")', 'slashes'],
  CSV: ['aip.csv.parse(t)', 'quoted cells'],
  elements: ['aip.tag.extract(t, { "A", "b" }, { extrude = "content" })', 'attributes without an end'],
}

attack(
  'a host function that is called with a hostile text again and again ends by the clock of the script or Ctrl-C',
  {
    core: worst,
    every: 3,
    more: () =>
      Object.fromEntries(calls.map((call, index) => [call, [call, names[(index * 7) % names.length] ?? ''] as const])),
  },
  async ([call, shape]) => {
    expect(calls).toContain(call)
    const files = { 'a.lua': looping(call), 't.txt': textOf(shapes[shape] ?? { unit: shape }, megabyte) }
    // one engine is stopped by Ctrl-C, the other by its clock: with both, a signal could hit a process that is just
    // exiting
    const ends = (['lua54', 'fengari'] as const).map(async (engine) => {
      const world = createWorld({ work: files })
      const [clock, options, code] =
        engine === 'lua54' ? ['lua.timeout=10m', { interruptWhen: world.hasBegun }, 130] : ['lua.timeout=1s', {}, 4]
      const end = await world.run(['a.lua', '-c', `lua.engine=${engine}`, '-c', clock], options)
      expectHeld(world, end, [code])
    })
    await Promise.all(ends)
  },
)
