import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startRun } from '../../../src/runner.ts'
import { tempTree } from '../../helpers/temp.ts'

const script = `
local csv, json, lines, text = "in/a.csv", "in/a.json", "in/a.jsonl", "in/a.md"
aip.file.load(text)
aip.file.first(text)
aip.file.ensure_exists(text)
aip.file.load_json(json)
aip.file.load_ndjson(lines)
aip.file.load_csv(csv)
aip.file.load_md_sections(text)
aip.file.hash_sha256(text)
aip.file.line_spans(text)
aip.file.list("in/*.md")
aip.file.exists(text)
aip.file.info(text)
aip.path.exists(text)
return "done"
`

it('an observation names the file that was read, but none if only names or metadata were read', async () => {
  const folder = tempTree({
    '.git/HEAD': '',
    'in/a.csv': 'x,y\n1,2\n',
    'in/a.json': '{}',
    'in/a.jsonl': '{}\n',
    'in/a.md': '# One\n\ntext\n',
    'look.lua': script,
  })
  const env = { BATON_HOME: join(folder, '.state') }
  const report = await startRun('look.lua', { cwd: folder, env, home: folder }, () => {})
  expect(report.error).toBeUndefined()

  const runs = join(folder, '.state/state/runs')
  const [workspace = ''] = readdirSync(runs)
  const lines = readFileSync(join(runs, workspace, report.runId, 'j-000001.jsonl'), 'utf8')
    .trim()
    .split('\n')
  const records = lines.map((line) => JSON.parse(line.slice(9)) as { k: string; name?: string; reads?: string })
  const observed = records.filter(({ k, name }) => k === 'obs' && /^aip\.(?:file|path)\./.test(name ?? ''))
  expect(observed.map(({ name, reads }) => [name, reads])).toEqual([
    ['aip.file.load', 'in/a.md'],
    ['aip.file.first', undefined],
    ['aip.file.ensure_exists', undefined],
    ['aip.file.load_json', 'in/a.json'],
    ['aip.file.load_ndjson', 'in/a.jsonl'],
    ['aip.file.load_csv', 'in/a.csv'],
    ['aip.file.load_md_sections', 'in/a.md'],
    ['aip.file.hash_sha256', 'in/a.md'],
    ['aip.file.line_spans', 'in/a.md'],
    ['aip.file.list', undefined],
    ['aip.file.exists', undefined],
    ['aip.file.info', undefined],
    ['aip.path.exists', undefined],
  ])
})
