import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runNode } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'

const plain = `import { readFileSync } from 'node:fs'
const lines = readFileSync(process.argv[2], 'utf8').trimEnd().split('\\n')
console.log(lines.map((line) => JSON.parse(line)).filter(({ status }) => status === 'done').length)
`

/** `baton runs` in a workspace with many runs, against plain Node that reads and parses their index. */
export async function runs({ command, library, folder, small }) {
  const count = small ? 50 : 10_000
  mkdirSync(join(folder, '.git'))
  writeFileSync(join(folder, 'ask.md'), '+++\nmodel = "offline::extractive"\n+++\nWhat is this?\n')
  writeFileSync(join(folder, 'plain.mjs'), plain)
  await runNode([command, 'ask.md'], { folder })
  const history = historyOf(folder)
  const index = join(history, 'index.jsonl')
  const lines = copyRun(history, count, await signerOf(library, join(folder, 'state/state/run-key')))
  writeFileSync(index, lines)

  async function listed(args, expected) {
    const { ms, stdout } = await runNode([command, 'runs', ...args], { folder })
    const printed = stdout.trimEnd().split('\n').length
    if (printed !== expected) throw new Error(`baton runs printed ${printed} lines instead of ${expected}`)
    if (stdout.includes('"foreign"')) throw new Error('baton runs treated its own runs as foreign')
    return ms
  }

  async function read() {
    const { ms, stdout } = await runNode(['plain.mjs', index], { folder })
    if (stdout !== `${count}\n`) throw new Error(`the reference read ${stdout.trim()} runs`)
    return ms
  }

  async function rebuilt() {
    rmSync(index)
    return listed([], 21)
  }

  const results = await interleave(
    { newest: () => listed([], 21), all: () => listed(['-n', '0', '--json'], count), rebuilt, read },
    small ? 1 : 9,
  )
  const label = count.toLocaleString('en-US')
  const of = 'reading and parsing their index'
  return [
    figure(`baton runs, ${label} runs`, { of, ratios: quotients(results.newest, results.read) }),
    figure(`baton runs -n 0 --json, ${label} runs`, { of, ratios: quotients(results.all, results.read) }),
    figure(`baton runs without its index, ${label} runs`, { of, ratios: quotients(results.rebuilt, results.read) }),
  ]
}

function historyOf(folder) {
  const all = join(folder, 'state/state/runs')
  const [workspace] = readdirSync(all)
  return join(all, workspace)
}

/** Signs the journal of a run for a different folder, as the installation would whose key is in the file. */
async function signerOf(library, keyFile) {
  const { decodeLine, encodeLine } = await import(`${library}/journal/record.js`)
  const { createSeal, sealKind } = await import(`${library}/journal/signing.js`)
  const key = Buffer.from(readFileSync(keyFile, 'utf8').trim(), 'hex')
  return (journal, to) => {
    const seal = createSeal(key)
    const lines = journal.trimEnd().split('\n')
    return lines.map((line) => {
      const record = decodeLine(Buffer.from(line))
      if (record.k === sealKind) {
        const mac = seal.take({ folder: to, epoch: record.e, number: record.n })
        return encodeLine(JSON.stringify({ ...record, mac }))
      }
      seal.add(`${line}\n`)
      return `${line}\n`
    })
  }
}

/** Copies the existing run to make that many; returns the lines of their index. */
function copyRun(history, count, signed) {
  const [first] = readdirSync(history).filter((name) => /^\d{8}-/.test(name))
  const summary = JSON.parse(readFileSync(join(history, first, 'summary.json'), 'utf8'))
  const journal = readFileSync(join(history, first, 'j-000001.jsonl'), 'utf8')
  rmSync(join(history, first), { recursive: true })
  return Array.from({ length: count }, (_, number) => {
    const id = `20260101-000000-${number.toString(16).padStart(6, '0')}`
    const line = `${JSON.stringify({ ...summary, id })}\n`
    mkdirSync(join(history, id))
    writeFileSync(join(history, id, 'summary.json'), line)
    writeFileSync(join(history, id, 'j-000001.jsonl'), signed(journal, join(history, id)).join(''))
    return line
  }).join('')
}
