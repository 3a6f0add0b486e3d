// Loaded into the command by `node --import` while golden runs are recorded: after each write to a journal it notes what
// has changed in the files around it, so that a test can restore the files as they were when any record was written.
//
// STATES: JSON { place, file }
//   place   absolute folder with everything that the command may change
//   file    outside of it; gets one line of JSON for each write: { journal, bytes, changes: { path: content | null } }
//           with the path and length of the journal, and the changes since the line before
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const { place, file } = JSON.parse(process.env['STATES'] ?? '{}')
const original = { ...fs }
const isJournal = (path) => /\/state\/runs\/.*\/j-\d+\.jsonl$/.test(path)
/** Written by the reader, or not read by any later process. */
const isSkipped = (path) => /(^|\/)(j-\d+\.(jsonl|alive)|run-key|hooks\/.*\.sample)$|^outside\//.test(path)

/** The content of everything below a folder. */
function scan(folder, into = new Map()) {
  for (const entry of original.readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    const name = relative(place, path)
    if (isSkipped(name)) continue
    try {
      if (entry.isDirectory()) {
        into.set(`${name}/`, '')
        scan(path, into)
      } else if (entry.isSymbolicLink()) into.set(name, JSON.stringify({ link: original.readlinkSync(path) }))
      else if (entry.isFile()) into.set(name, contentOf(path))
    } catch (error) {
      // gone in the meantime
      if (error.code !== 'ENOENT') throw error
    }
  }
  return into
}

function contentOf(path) {
  const bytes = original.readFileSync(path)
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text).equals(bytes)
  const isProgram = (original.statSync(path).mode & 0o100) !== 0
  if (isText && !isProgram) return JSON.stringify(text)
  return JSON.stringify({
    ...(isText ? { text } : { base64: bytes.toString('base64') }),
    ...(isProgram && { isProgram }),
  })
}

/** The state that the processes before this one have left. */
const known = new Map()
if (isMainThread && original.existsSync(file)) {
  for (const line of original.readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    for (const [path, content] of Object.entries(JSON.parse(line).changes)) {
      if (content === null) known.delete(path)
      else known.set(path, path.endsWith('/') ? '' : JSON.stringify(content))
    }
  }
}

function note(journal, bytes) {
  if (!original.existsSync(place)) return
  const now = scan(place)
  const changes = {}
  for (const [path, content] of now) {
    if (known.get(path) !== content) changes[path] = content === '' ? '' : JSON.parse(content)
  }
  for (const path of known.keys()) if (!now.has(path)) changes[path] = null
  known.clear()
  for (const [path, content] of now) known.set(path, content)
  original.appendFileSync(file, `${JSON.stringify({ journal, bytes, changes })}\n`)
}

/** The journals that this process writes, by inode: they are prepared under another name, and then linked. */
const journals = new Map()

// threads of the command write no journals
if (isMainThread) {
  fs.linkSync = (from, to) => {
    original.linkSync(from, to)
    if (!isJournal(String(to))) return
    const { ino, size } = original.statSync(to)
    journals.set(ino, relative(place, String(to)))
    note(journals.get(ino), size)
  }
  fs.writeSync = (number, ...rest) => {
    const taken = original.writeSync(number, ...rest)
    const { ino, size } = original.fstatSync(number)
    const journal = journals.get(ino)
    if (journal !== undefined) note(journal, size)
    return taken
  }
  process.on('exit', () => note('', 0))
  syncBuiltinESMExports()
}
