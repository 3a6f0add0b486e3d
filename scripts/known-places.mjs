// Writes docs/known-places.md from src/tool/protected/known-places.ts; with --check, compares and changes nothing.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = join(root, 'docs/known-places.md')
const source = readFileSync(join(root, 'src/tool/protected/known-places.ts'), 'utf8')
const { code } = transformSync(source, { loader: 'ts', format: 'esm' })
const { keyPlaces, runPlaces } = await import(`data:text/javascript,${encodeURIComponent(code)}`)

function rows(places) {
  return places.map(({ places: names, source: from }) => {
    const shown = names.split(' ').map((name) => `\`${name}\``)
    return `| ${shown.join(' ')} | ${from} |`
  })
}

const text = `# Well-known places

<!-- Written by \`node scripts/known-places.mjs\` from src/tool/protected/known-places.ts. Do not edit. -->

A name counts in any folder; with a slash at the end it is a folder with everything in it. \`*\` stands for any characters. \`~/\` is the
home folder. Upper and lower case are the same. How they are used: [security.md](security.md), [sandbox.md](sandbox.md) and
[tools.md](tools.md#permission).

## Places that hold keys

Files named \`.env…\` that end in \`example\`, \`sample\`, \`template\`, \`dist\` or \`default\` hold none.

| Places | Described in |
| --- | --- |
${rows(keyPlaces).join('\n')}

## Files that programs run by themselves

| Places | Described in |
| --- | --- |
${rows(runPlaces).join('\n')}
`
if (!process.argv.includes('--check')) writeFileSync(page, text)
else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/known-places.md is not what known-places.ts says: run node scripts/known-places.mjs')
  process.exit(1)
}
