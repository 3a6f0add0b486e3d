// Writes test/fixtures/journals/v<format>-<shape>/ anew: runs that were stopped, as this version records them. Journals
// that are there prove that later versions resume what earlier ones have written: run this only for a shape that is new,
// and never again for one that was released.
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
