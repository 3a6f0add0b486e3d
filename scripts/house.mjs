// Counts how `src/` is cut into files, and refuses new walls.
//   node scripts/house.mjs                 the counts, and the circles of imports
//   node scripts/house.mjs --json          the same as JSON
//   node scripts/house.mjs --list single   the files with one importer, with it
//   node scripts/house.mjs --imports       what each file imports, as JSON: names as they are written, and how
//   node scripts/house.mjs --check         exits with 1 if a file has become one with a single importer, if a line of
//                                          test/fixtures/single-importers.txt is out of date, or a circle has grown
//   node scripts/house.mjs --shrink        removes the lines that are out of date; it never adds one
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const listFile = join(root, 'test/fixtures/single-importers.txt')
/** Files in a circle of imports, at most. Static imports count, of values and of types. */
const mostInCircle = 8

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    imports: { type: 'boolean' },
    list: { type: 'string' },
    check: { type: 'boolean' },
    shrink: { type: 'boolean' },
  },
})

const files = sourceFiles('src')
const importers = new Map([...files.keys()].map((file) => [file, new Map()]))
for (const [file, { imports }] of files) {
  for (const { target, kind } of imports) {
    const known = importers.get(target)
    if (known !== undefined && known.get(file) !== 'static') known.set(file, kind === 'lazy' ? 'lazy' : 'static')
  }
}
const tested = new Set([...sourceFiles('test').values()].flatMap(({ imports }) => imports.map(({ target }) => target)))
const single = [...importers].flatMap(([file, by]) => {
  const [first] = by
  return by.size === 1 && first !== undefined
    ? [{ file, by: first[0], kind: first[1], lines: files.get(file).lines }]
    : []
})
/** Tables with a file for each row, beside them or below. */
const tables = [
  'agent/modes/registry.ts',
  'page/view/run-tabs.tsx',
  'script/host/index.ts',
  'settings/rows.ts',
  'strategies/strategies.ts',
]
const isRow = ({ file, by }) => tables.includes(by) && file.startsWith(`${dirname(by)}/`)
/** What nothing but the list excuses: loaded with its importer, without a test of its own, and no row of a table. */
const unexcused = single
  .filter((one) => one.kind === 'static' && !tested.has(one.file) && !isRow(one))
  .map(({ file }) => file)
const circles = circlesIn(
  new Map([...files].map(([file, { imports }]) => [file, imports.filter(({ kind }) => kind !== 'lazy')])),
)

if (values.check === true) process.exitCode = check()
else if (values.shrink === true) shrink()
else if (values.imports === true)
  console.log(JSON.stringify(Object.fromEntries([...files].map(([file, { imports }]) => [file, imports]))))
else if (values.list === 'single') {
  for (const { file, by, kind, lines } of single)
    console.log(`${file} (${lines})  ${kind === 'lazy' ? 'by import() of' : 'of'} ${by}`)
} else report()

function report() {
  const sizes = [...files.values()].map(({ lines }) => lines).toSorted((left, right) => left - right)
  const counts = {
    files: sizes.length,
    lines: sizes.reduce((sum, lines) => sum + lines, 0),
    'median lines': sizes[Math.floor(sizes.length / 2)],
    'files with one importer': single.length,
    'of these neither lazy nor tested': unexcused.length,
    'files under 30 lines': sizes.filter((lines) => lines < 30).length,
    'files in the largest circle': Math.max(0, ...circles.map((circle) => circle.length)),
  }
  if (values.json === true) return console.log(JSON.stringify({ ...counts, circles }))
  for (const [name, count] of Object.entries(counts)) console.log(`${String(count).padStart(8)}  ${name}`)
  for (const circle of circles.filter(({ length }) => length > 3))
    console.log(`${String(circle.length).padStart(8)}  ${circle.join(' ')}`)
}

function check() {
  const known = listed()
  const problems = [
    ...unexcused
      .filter((file) => !known.includes(file))
      .map((file) => `${file} has one importer: move it there, or give it a test of its own if it is a concept`),
    ...known
      .filter((file) => !unexcused.includes(file))
      .map((file) => `${file} is no longer one: node scripts/house.mjs --shrink`),
    ...circles
      .filter(({ length }) => length > mostInCircle)
      .map((circle) => `a circle of ${circle.length} files, at most ${mostInCircle}: ${circle.join(' ')}`),
  ]
  for (const problem of problems) console.log(problem)
  return problems.length === 0 ? 0 : 1
}

function shrink() {
  const lines = readFileSync(listFile, 'utf8').split('\n')
  writeFileSync(
    listFile,
    lines.filter((line) => line === '' || line.startsWith('#') || unexcused.includes(line)).join('\n'),
  )
}

function listed() {
  return readFileSync(listFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** By path below the folder: its lines, and what it imports, with the path below src/ of what is there. */
function sourceFiles(folder) {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  )
  return new Map(
    names.map((name) => {
      const text = readFileSync(join(root, folder, name), 'utf8')
      const imports = importsIn(text).map((one) => ({
        ...one,
        target: join(folder, dirname(name), one.name).replace(/^src\//, ''),
      }))
      return [name, { lines: text.split('\n').length - 1, imports }]
    }),
  )
}

/** @returns {{ name: string, kind: 'value' | 'type' | 'lazy' }[]} */
function importsIn(text) {
  const statement =
    /^\s*(?:import|export)\s+(type\s)?(?:[^'"();]*?\bfrom\s*)?['"]([^'"]+)['"]|(\btypeof\s+)?\bimport\(\s*['"]([^'"]+)['"]/gm
  return [...text.matchAll(statement)].map(([, type, fixed, typeOf, lazy]) => ({
    name: fixed ?? lazy,
    kind: (type ?? typeOf) !== undefined ? 'type' : fixed === undefined ? 'lazy' : 'value',
  }))
}

/** The strongly connected components with more than one file, the largest first (Tarjan 1972). */
function circlesIn(graph) {
  const [index, low] = [new Map(), new Map()]
  const [stack, found] = [[], []]
  function visit(file) {
    index.set(file, index.size)
    low.set(file, index.get(file))
    stack.push(file)
    for (const { target } of graph.get(file) ?? []) {
      if (!graph.has(target)) continue
      if (!index.has(target)) {
        visit(target)
        low.set(file, Math.min(low.get(file), low.get(target)))
      } else if (stack.includes(target)) low.set(file, Math.min(low.get(file), index.get(target)))
    }
    if (low.get(file) !== index.get(file)) return
    const circle = stack.splice(stack.indexOf(file))
    if (circle.length > 1) found.push(circle)
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return found.toSorted((left, right) => right.length - left.length)
}
