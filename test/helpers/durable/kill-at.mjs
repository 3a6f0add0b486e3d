// Loaded into the command by `node --import`: counts the file operations below one folder and, at the K-th, kills its own
// process or lets the operation fail. The product has no hook for this: node:fs itself is wrapped.
//
// DISTURB: JSON { scope, match?, reads?, at?, when?, code?, shifts?, report? }
//   scope   absolute folder; operations on paths below it, and on what was opened there, count from 1
//   match   text: `at` counts only writes that hold it
//   reads   files that are opened for reading count too
//   at      which one is disturbed; left out: none, they are only counted
//   when    before | half (of a write, or of what is in a folder that is removed; else before) | after: killed there
//           fail: the operation throws `code`, once · failing: so do all later ones, and a write takes half before
//           short: a write takes half of the bytes
//           full: so do all later ones that take room: a disk that is full gives some back
//   thenKill  so many operations after the first that failed the process is killed
//   machine   it says that it runs on this machine, another one than it does
//   shifts  milliseconds the wall clock jumps by, one after another, a jump at every operation
//   report  file that gets JSON when the process ends: { operations: [[name, path]], sizes: { inode: bytes written } }
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, isAbsolute, resolve } from 'node:path'

const {
  scope,
  match,
  reads = false,
  at,
  when,
  code = 'EIO',
  shifts = [],
  thenKill,
  machine,
  report,
} = JSON.parse(process.env['DISTURB'])
delete process.env['DISTURB']

const original = { ...fs }
const operations = []
/** Path of each descriptor that was opened below the folder. */
const opened = new Map()
/** Bytes the system took, by inode: files are renamed and linked. */
const sizes = new Map()
/** Calls of node:fs that are made by node:fs itself do not count. */
let depth = 0

/** Files are named from folders that are held open: where those are. */
function placeOf(path) {
  const [, held, rest] = /^(\/proc\/self\/fd\/\d+)(\/.*)?$/.exec(path) ?? []
  return held === undefined ? resolve(path) : `${original.readlinkSync(held)}${rest ?? ''}`
}

function isInside(path) {
  if (typeof path !== 'string') return false
  const place = placeOf(path)
  return place === scope || place.startsWith(`${scope}/`)
}

function end() {
  if (report !== undefined) {
    const text = JSON.stringify({ operations, sizes: Object.fromEntries(sizes) })
    original.writeFileSync(report, text)
  }
}

function kill() {
  end()
  process.kill(process.pid, 'SIGKILL')
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

function systemError(name, path) {
  const error = new Error(`${code}: injected, ${name} '${path}'`)
  return Object.assign(error, { code, syscall: name, path })
}

let counted = 0

/** Counts an operation; what is to be done with it. */
function next(name, path, bytes) {
  operations.push([name, path.slice(scope.length + 1)])
  jump()
  if (match !== undefined && bytes?.includes(match) !== true) return undefined
  counted += 1
  if (counted === at && when !== 'full') return when
  if (at !== undefined && thenKill !== undefined && counted === at + thenKill) return 'before'
  if (at === undefined || counted < at) return undefined
  const isFull = when === 'full' && !/^(?:rm|unlink|rmdir|rename|truncate|ftruncate|f?sync|fdatasync)/.test(name)
  return isFull || (when === 'failing' && counted > at) ? 'fail' : undefined
}

function jump() {
  if (shifts.length > 0) shift += shifts[(operations.length - 1) % shifts.length]
}

let shift = 0
if (shifts.length > 0) {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [RealDate.now() + shift] : given))
    }
    static now() {
      return RealDate.now() + shift
    }
  }
}

/** Removes every second entry of a folder, the first one included. */
function removeHalf(path) {
  if (original.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return
  for (const [index, entry] of original.readdirSync(path).entries()) {
    if (index % 2 === 0) original.rmSync(`${path}/${entry}`, { recursive: true })
  }
}

/** Wraps a function that returns when it is done. */
function wrapSync(name, pathOf) {
  const work = original[name]
  fs[name] = (...given) => {
    const path = depth === 0 ? pathOf(given) : undefined
    if (path === undefined) return work(...given)
    const what = next(name, path)
    if (what === 'half' && name === 'rmSync') removeHalf(path)
    if (what === 'before' || what === 'half') kill()
    if (what === 'fail' || what === 'failing') throw systemError(name, path)
    depth += 1
    try {
      return work(...given)
    } finally {
      depth -= 1
      if (what === 'after') kill()
    }
  }
}

/** Wraps a function that calls back when it is done. */
function wrapCallback(name, pathOf) {
  const work = original[name]
  fs[name] = (...given) => {
    const path = pathOf(given)
    if (path === undefined) return work(...given)
    const callback = given.pop()
    const what = next(name, path)
    if (what === 'before' || what === 'half') kill()
    if (what === 'fail' || what === 'failing') return void setImmediate(() => callback(systemError(name, path)))
    return work(...given, (...results) => {
      if (what === 'after') kill()
      callback(...results)
    })
  }
}

const firstPath = ([path]) => (isInside(path) ? placeOf(path) : undefined)
const secondPath = ([, path]) => (isInside(path) ? placeOf(path) : undefined)
const descriptor = ([number]) => opened.get(number)

for (const name of [
  'mkdirSync',
  'rmSync',
  'unlinkSync',
  'rmdirSync',
  'truncateSync',
  'writeFileSync',
  'appendFileSync',
]) {
  wrapSync(name, firstPath)
}
for (const name of ['linkSync', 'renameSync', 'copyFileSync']) wrapSync(name, secondPath)
for (const name of ['fdatasyncSync', 'fsyncSync', 'ftruncateSync']) wrapSync(name, descriptor)
for (const name of ['fdatasync', 'fsync']) wrapCallback(name, descriptor)

const opens = (flags) => (typeof flags === 'string' ? /[awx+]/.test(flags) : (flags & fs.constants.O_CREAT) !== 0)
wrapSync('openSync', ([path, flags = 'r']) => (isInside(path) && (reads || opens(flags)) ? placeOf(path) : undefined))
const openAndCount = fs.openSync
fs.openSync = (...given) => {
  const number = openAndCount(...given)
  if (isInside(given[0])) opened.set(number, placeOf(given[0]))
  return number
}
fs.closeSync = (number) => {
  opened.delete(number)
  return original.closeSync(number)
}

fs.writeSync = (number, bytes, ...rest) => {
  const path = depth === 0 ? opened.get(number) : undefined
  if (path === undefined || !ArrayBuffer.isView(bytes)) return original.writeSync(number, bytes, ...rest)
  const [offset = 0, length = bytes.byteLength - offset] = rest
  const take = (count) => {
    const taken = original.writeSync(number, bytes, offset, count)
    const { ino } = original.fstatSync(number)
    sizes.set(ino, (sizes.get(ino) ?? 0) + taken)
    return taken
  }
  const half = Math.max(1, Math.floor(length / 2))
  const what = next('writeSync', path, Buffer.from(bytes.buffer, bytes.byteOffset + offset, length))
  if (what === 'before') kill()
  if (what === 'half') {
    take(half)
    kill()
  }
  if (what === 'fail') throw systemError('writeSync', path)
  // a disk fills up in the middle of a write
  const taken = take(what === 'short' || what === 'failing' ? half : length)
  if (what === 'after') kill()
  return taken
}

if (machine !== undefined) {
  fs.readFileSync = (path, ...given) =>
    path === '/proc/sys/kernel/random/boot_id' ? machine : original.readFileSync(path, ...given)
}

if (!isAbsolute(scope) || dirname(scope) === scope) throw new Error(`scope must be a folder: ${scope}`)
process.on('exit', end)
syncBuiltinESMExports()
