import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from './helpers/baton.ts'

const runFile = promisify(execFile)
const bench = join(root, 'bench/run.mjs')

it('runs every benchmark in its small mode and prints figures against a named reference', async () => {
  const { stdout } = await runFile(process.execPath, [bench, '--small'], { timeout: 120_000 })

  // with so few inputs a difference of two times can be below zero
  const lines = stdout.trimEnd().split('\n')
  expect(lines.filter((line) => !/^\w+ +\S.* +-?\d+\.\d\d x \S/.test(line))).toEqual([])
  expect([...new Set(lines.map((line) => line.split(' ')[0]))]).toEqual([
    'start',
    'inputs',
    'streams',
    'lua',
    'cpu',
    'aip',
    'changes',
    'watch',
    'check',
    'durable',
    'resume',
    'runs',
  ])
}, 125_000)

it('refuses a benchmark that does not exist, naming those that do', async () => {
  await expect(runFile(process.execPath, [bench, 'speed'])).rejects.toMatchObject({
    code: 2,
    stderr:
      'no benchmark speed; there are start, inputs, streams, lua, cpu, aip, changes, watch, check, durable, resume, runs\n',
  })
})
