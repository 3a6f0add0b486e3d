import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import {
  cutsOf,
  goldenRunNames,
  readGoldenRun,
  resumeAt,
  shapeOf,
  someCutsOf,
  viewsOf,
} from '../helpers/durable/golden-runs.ts'

// Runs of an earlier version: test/fixtures/golden-runs, recorded by scripts/golden-journals.mjs. Every later version
// shows them as that one did, and resumes them wherever they were killed, without paying for anything twice.
// BATON_GOLDEN=whole (npm run soak -- golden) cuts them at every record.
const isWhole = process.env['BATON_GOLDEN'] === 'whole'

for (const name of goldenRunNames()) {
  const golden = readGoldenRun(name)
  const { needs = [], isRace } = shapeOf(name)
  const missing = needs.filter((program) => spawnSync(program, ['--version']).status !== 0)

  describe.skipIf(missing.length > 0)(`${name}${missing.map((program) => `, which needs ${program}`).join('')}`, () => {
    it('is shown and replayed like by the version that recorded it', async () => {
      expect(await viewsOf(name, { golden })).toEqual(golden.views)
    })

    it.each(isWhole ? cutsOf(name, golden) : someCutsOf(name, golden, 1))('continues after $at', async (cut) => {
      const { result, calls, unpaid, said } = await resumeAt(name, cut, { golden })
      expect(result, said).toEqual(golden.result)
      if (isRace === true) expect(calls, said).toBeLessThanOrEqual(unpaid)
      else expect(calls, said).toBe(unpaid)
    })
  })
}
