// node resume-records.mjs <library> <folder> <finished|unfinished> <count>: writes the journal that resume.mjs reads.
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const [library, folder, shape, count] = process.argv.slice(2)
const text = 'What these files are for, in one or two sentences. '.repeat(4)
const fp = '0123456789abcdef'.repeat(4)
const change = { op: 'write', path: 'b.md', before: null, after: fp }
const { encodeLine } = await import(`${library}/journal/record.js`)

mkdirSync(folder, { recursive: true })
const file = openSync(join(folder, 'j-000001.jsonl'), 'w')
let waiting = []
let next = 0
write({ k: 'seg', v: 2, pid: 1, start: 'ticks:1', boot: 'boot', host: 'host' })
write({ k: 'run.start', run: '20251122-000000-aaaaaa', file: 'ask.md', hash: 'ff', version: '1', facts: {} })
if (shape === 'finished') writeTasks()
else writeSection()
writeSync(file, waiting.join(''))
closeSync(file)

function writeTasks() {
  for (let number = 0; next < count - 10; number += 1) writeTask(`task/${number}`)
  while (next < count) write({ k: 'use', p: 'post', path: 'a.aip', hash: fp })
}

/** A task with one script and one model call. */
function writeTask(task) {
  const section = `${task}/pre_task/0:lint/data`
  write({ k: 'begin', p: task, key: { input: '0123456789abcdef' } })
  write({ k: 'begin', p: section, key: { code: '0123456789abcdef', data: '0123456789abcdef' } })
  write({ k: 'obs', p: `${section}#0`, name: 'aip.file.load', args: ['a.md'], status: 'ok', value: text })
  const s = write({ k: 'started', p: `${section}#1`, kind: 'file', repeat: 'safe', fp, request: change })
  write({ k: 'ended', p: `${section}#1`, s, kind: 'file', status: 'ok' })
  write({ k: 'call', p: `${section}#1`, name: 'aip.file.save', args: ['b.md', text], status: 'ok' })
  write({ k: 'done', p: section, value: { text } })
  const request = { provider: 'p::m', messages: [{ role: 'user', parts: [{ type: 'text', text }] }] }
  const m = write({ k: 'started', p: `${task}/model`, kind: 'model', repeat: 'safe', fp, request })
  const used = { model: 'p::m', usage: { input: 9, output: 9, calls: 1 }, usd: 0.01 }
  const cost = { calls: 1, tokens: 18, usd: 0.01 }
  write({
    k: 'ended',
    p: `${task}/model`,
    s: m,
    kind: 'model',
    status: 'ok',
    value: { parts: [{ type: 'text', text }] },
    cost,
    used,
  })
  write({ k: 'done', p: task, value: { content: text } })
}

/** One script that has made all calls of the run but has not finished. */
function writeSection() {
  write({ k: 'begin', p: 'pre/0:walk/data', key: { code: '0123456789abcdef' } })
  for (let number = 0; next < count; number += 1) {
    const k = number % 4 === 3 ? 'call' : 'obs'
    const p = `pre/0:walk/data#${number}`
    write({ k, p, name: 'aip.file.load', args: [`src/file-${number}.ts`], status: 'ok', value: text })
  }
}

function write(fields) {
  waiting.push(encodeLine(JSON.stringify({ e: 1, n: next, t: 1_763_766_000_000, ...fields })))
  next += 1
  if (waiting.length >= 1000) {
    writeSync(file, waiting.join(''))
    waiting = []
  }
  return next - 1
}
