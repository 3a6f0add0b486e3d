// Writes test/fixtures/journals/v<format>-<shape>/: stopped runs as this version records them. Existing journals prove
// that later versions can resume the runs of earlier ones: run this only for a new shape, and never again for a
// released one.
//   node scripts/golden-journals.mjs NAME
import { register } from 'tsx/esm/api'

register()
const { shapes } = await import('../test/helpers/durable/golden-shapes.ts')
const { writeGolden } = await import('../test/helpers/durable/golden.ts')
const [name] = process.argv.slice(2)
if (name === undefined || !Object.hasOwn(shapes, name)) {
  console.error(`Name one of these: ${Object.keys(shapes).join(', ')}`)
  process.exitCode = 2
} else await writeGolden(name)
