// Installs and builds whatever is missing or out of date; otherwise returns quickly.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Baton needs Node 20.19 or later; this is ${process.versions.node}.`)
  process.exit(2)
}

step('node_modules/.baton-setup', fingerprint(['package.json', 'package-lock.json']), () =>
  // not `npm ci`, which reinstalls everything
  run('npm', ['install', '--no-save']),
)
step('dist/.baton-build', fingerprint(['package-lock.json', 'scripts', 'src', 'tsconfig.json']), () =>
  run(process.execPath, [join(root, 'scripts/build.mjs')]),
)

function step(stampFile, wanted, work) {
  const file = join(root, stampFile)
  if (readStamp(file) === wanted) return
  work()
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, wanted)
}

function readStamp(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function fingerprint(paths) {
  const hash = createHash('sha256')
  for (const path of paths) addTo(hash, path)
  return hash.digest('hex')
}

function addTo(hash, path) {
  const file = join(root, path)
  if (!statSync(file).isDirectory()) {
    hash.update(path).update(readFileSync(file))
    return
  }
  for (const name of readdirSync(file).toSorted()) addTo(hash, join(path, name))
}

function run(command, args) {
  // the output of the setup is not part of the output of the command that needs it
  execFileSync(command, args, { cwd: root, stdio: ['ignore', process.stderr, 'inherit'] })
}
