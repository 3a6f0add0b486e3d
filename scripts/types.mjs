// node scripts/types.mjs FROM TO: writes the declarations of a built module, and all that they use, to one file.
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

const [input, file] = process.argv.slice(2)

/** The types of the rows of settings contain what they say to people, a tenth of the file, of which no type is made. */
const short = {
  name: 'short',
  renderChunk: (code) =>
    code
      .replaceAll(/readonly text: (?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*");/g, 'readonly text: string;')
      .replaceAll(/^(?: {4})+/gm, (indent) => '\t'.repeat(indent.length / 4)),
}

const bundle = await rollup({ input, plugins: [dts(), short], external: (name) => !/^[./]/.test(name) })
await bundle.write({ file, format: 'es' })
await bundle.close()
