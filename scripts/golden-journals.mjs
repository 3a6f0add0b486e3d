// Writes runs as a version records them. They prove that later versions can show and resume the runs of earlier ones: run
// this only for a new shape, and never again for a released one.
//   node scripts/golden-journals.mjs NAME              test/fixtures/journals/v<format>-<shape>/: a stopped run of this version
//   node scripts/golden-journals.mjs NAME --build DIR  test/fixtures/golden-runs/<shape>.json.gz: a whole run, recorded by the
//                                                      build in this folder, with the files as they were at each record
//   node scripts/golden-journals.mjs NAME --views      only what the build of this repository shows of such a run, after an
//                                                      intended change of the output
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { register } from 'tsx/esm/api'

register()
const { values, positionals } = parseArgs({
  options: { build: { type: 'string' }, views: { type: 'boolean' } },
  allowPositionals: true,
})
const [name] = positionals
const isWhole = values.build !== undefined || values.views === true
const { shapes } = await import('../test/helpers/durable/golden-shapes.ts')
const { runShapes } = await import('../test/helpers/durable/golden-run-shapes.ts')
const names = Object.keys(isWhole ? runShapes : shapes)
if (!names.includes(name)) {
  console.error(`Name one of these: ${names.join(', ')}`)
  process.exitCode = 2
} else if (isWhole) {
  const { recordGoldenRun, recordViews } = await import('../test/helpers/durable/golden-runs.ts')
  if (values.build === undefined) await recordViews(name)
  else await recordGoldenRun(name, resolve(values.build))
} else {
  const { writeGolden } = await import('../test/helpers/durable/golden.ts')
  await writeGolden(name)
}
