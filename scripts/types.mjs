// node scripts/types.mjs FROM TO: writes the declarations of a built module, and all that they use, to one file.
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

const [input, file] = process.argv.slice(2)
const bundle = await rollup({ input, plugins: [dts()], external: (name) => !/^[./]/.test(name) })
await bundle.write({ file, format: 'es' })
await bundle.close()
