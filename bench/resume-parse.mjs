// node resume-parse.mjs <folder>: the reference of resume.mjs reads the same bytes and parses every line.
import { createReadStream } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
let count = 0
let rest = ''
for await (const chunk of createReadStream(join(folder, 'j-000001.jsonl'), {
  encoding: 'utf8',
  highWaterMark: 256 * 1024,
})) {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) if (JSON.parse(line.slice(9)).n === count) count += 1
}
console.log(count)
