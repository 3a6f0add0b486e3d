import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'
import { parse as readCsv } from 'csv-parse/sync'
import { cleanEnv } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

/**
 * Each case has the Lua expression that is repeated and the same in plain Node; both return the number `count`, scaled
 * by the size.
 */
const works = [
  {
    name: 'aip.json.parse, 1 MB of records',
    read: 'data.json',
    lua: '#aip.json.parse(text .. (" "):rep(i))',
    node: (text, i) => JSON.parse(text + ' '.repeat(i)).length,
    times: { lua: 10, node: 30 },
  },
  {
    name: 'aip.json.stringify, 1 MB of records',
    read: 'data.json',
    lua: '#aip.json.stringify(value) // 100',
    node: (text, _, value) => Math.floor(JSON.stringify(value).length / 100),
    times: { lua: 10, node: 30 },
  },
  {
    name: 'aip.csv.parse, 5,000 rows',
    read: 'data.csv',
    lua: '#aip.csv.parse(text .. ("\\n"):rep(i)).rows',
    node: (text, i) =>
      readCsv(text + '\n'.repeat(i), { bom: true, relax_column_count: true, skip_empty_lines: true }).length - 1,
    times: { lua: 10, node: 10 },
  },
  {
    name: 'aip.text.extract_line_blocks, 1 MB',
    read: 'data.txt',
    lua: '#aip.text.extract_line_blocks(text .. ("\\n"):rep(i), { starts_with = ">", extrude = "content" })',
    node: (text, i) => lineBlocks(text + '\n'.repeat(i)).blocks.length,
    times: { lua: 10, node: 30 },
  },
  {
    name: 'aip.file.list, half of 20,000 files',
    read: 'data.txt',
    lua: '#aip.file.list("tree/**/*.md")',
    node: (_, i, value, folder) => listFiles(folder, '.md').length,
    times: { lua: 4, node: 4 },
  },
]

/**
 * The cost of calling `aip.*` from a section, against plain Node doing the same: the CPU time of one more call,
 * computed from a run with many calls minus a run with one. Passing values in and out of Lua and recording them in the
 * journal is included, startup is not.
 */
export async function aip({ library, folder, small }) {
  const { run } = await import(`${library}/index.js`)
  writeData(folder, small ? 50 : 5_000)
  const figures = []
  for (const { name, read, lua, node, times } of works) {
    const text = readFileSync(join(folder, read), 'utf8')
    const value = read === 'data.json' ? JSON.parse(text) : undefined
    const count = node(text, 1, value, folder)
    const calls = small ? { lua: 2, node: 2 } : times
    const results = await interleave(
      {
        once: () => processorTime(() => runAgent(run, { folder, text: agentOf({ read, lua, count, calls: 1 }) })),
        often: () =>
          processorTime(() => runAgent(run, { folder, text: agentOf({ read, lua, count, calls: calls.lua + 1 }) })),
        plain: () =>
          processorTime(() => {
            for (let i = 1; i <= calls.node; i += 1) expectCount(node(text, i, value, folder), count)
          }),
      },
      small ? 1 : 7,
    )
    const more = results.often.map((time, round) => (time - results.once[round]) / calls.lua)
    const plain = results.plain.map((time) => time / calls.node)
    figures.push(figure(name, { of: 'the same in plain Node', ratios: quotients(more, plain) }))
  }
  return figures
}

const agentOf = ({ read, lua, count, calls }) => `# Data

\`\`\`lua
local text = aip.file.load("${read}").content
local value = ${read === 'data.json' ? 'aip.json.parse(text)' : 'nil'}
for i = 1, ${calls} do
  local count = ${lua}
  assert(count == ${count}, count)
end
\`\`\`
`

async function runAgent(run, { folder, text }) {
  writeFileSync(join(folder, 'work.aip'), text)
  const { exitCode, error } = await run('work.aip', {
    cwd: folder,
    env: cleanEnv(folder),
    home: folder,
  }).result
  if (exitCode !== 0) throw new Error(`work.aip exited with ${exitCode}: ${error?.message}`)
}

function expectCount(found, count) {
  if (found !== count) throw new Error(`counted ${found}, not ${count}`)
}

/** User and system time of all threads in milliseconds, which a busy machine affects less than wall-clock time. */
async function processorTime(work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function writeData(folder, size) {
  const records = Array.from({ length: size }, (_, id) => ({
    id,
    name: `record number ${id}`,
    place: { file: `src/folder/file-${id}.ts`, line: id % 400, text: 'x'.repeat(60) },
    tags: ['one', 'two', `three ${id}`],
  }))
  const rows = records.map(({ id, name, place }) => `${id},${name},"a note, in ""quotes""",${place.file}`)
  const lines = Array.from(
    { length: size * 4 },
    (_, line) => `${line % 10 < 3 ? '>' : ' '} a line of text with an ä and a few words`,
  )
  writeFileSync(join(folder, 'data.json'), JSON.stringify(records))
  writeFileSync(join(folder, 'data.csv'), ['id,name,note,file', ...rows].join('\n'))
  writeFileSync(join(folder, 'data.txt'), lines.join('\n'))
  for (let file = 0; file < size * 4; file += 1) {
    const parent = join(folder, 'tree', `part-${file % 10}`, `folder-${file % 200}`)
    if (file < 200) mkdirSync(parent, { recursive: true })
    writeFileSync(join(parent, `file-${file}.${file % 400 < 200 ? 'md' : 'ts'}`), '')
  }
}

function lineBlocks(text) {
  const blocks = []
  const rest = []
  let wasInside = false
  for (const line of text.split('\n')) {
    const isInside = line.startsWith('>')
    if (!isInside) rest.push(`${line}\n`)
    else if (wasInside) blocks.push(`${blocks.pop()}${line}\n`)
    else blocks.push(`${line}\n`)
    wasInside = isInside
  }
  return { blocks, rest: rest.join('') }
}

/** Path, name, size and time of each file, ordered by path. */
function listFiles(folder, ending) {
  return readdirSync(join(folder, 'tree'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map(({ parentPath, name }) => {
      const file = join(parentPath, name)
      const { size, mtimeNs } = statSync(file, { bigint: true })
      const mtime = Number(mtimeNs / 1000n)
      const shown = relative(folder, file)
      return {
        path: shown,
        dir: dirname(shown),
        name,
        stem: basename(name, ending),
        ext: extname(name),
        size: Number(size),
        mtime,
      }
    })
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
}
