// npm run release -- VERSION|major|minor|patch [--dry-run]: makes a release of what is committed. Writes the version and the
// changelog, packs, tries the package (smoke.mjs), then commits and tags. Publishing is left to you. If something
// fails, the files are as before.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const versionFiles = ['package.json', 'package-lock.json', 'src/version.ts']
const changed = [...versionFiles, 'CHANGELOG.md']

class Refusal extends Error {
  constructor(message, code = 1) {
    super(message)
    this.code = code
  }
}

// Ctrl-C ends the command that is running, and then the files are put back
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
try {
  release(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(`release: ${error.message}`)
  process.exitCode = error.code
}

function release(args) {
  const isDry = args.includes('--dry-run')
  const [wanted, ...others] = args.filter((arg) => arg !== '--dry-run')
  if (wanted === undefined || others.length > 0 || wanted.startsWith('-')) {
    throw new Refusal('name one version: npm run release -- VERSION|major|minor|patch [--dry-run]', 2)
  }
  const { name, version: current } = JSON.parse(readFileSync('package.json', 'utf8'))
  const version = versionOf(wanted, current)
  const changelog = readFileSync('CHANGELOG.md', 'utf8')
  const files = nextFiles({ version, current, changelog })
  const status = git('status', '--porcelain').trimEnd()
  if (status !== '')
    throw new Refusal(`there are changes that are not committed; commit or remove them first:\n${status}`)

  const tag = `v${version}`
  const tarball = `${name}-${version}.tgz`
  console.log(`${name} ${current} → ${version}`)
  if (isDry) {
    console.log(`would write ${changed.join(', ')}, pack and try ${tarball}, commit, and tag ${tag}`)
    return
  }
  const start = git('rev-parse', 'HEAD').trim()
  let isDone = false
  try {
    for (const [file, text] of files) writeFileSync(file, text)
    run('npm', ['pack'])
    run(process.execPath, [join('scripts', 'smoke.mjs'), tarball])
    run('git', ['commit', '--quiet', '--message', `Release ${version}`, '--', ...changed])
    run('git', ['tag', '--annotate', tag, '--message', `Release ${version}`])
    isDone = true
  } finally {
    if (!isDone) {
      git('reset', '--quiet', '--soft', start)
      git('checkout', '--quiet', 'HEAD', '--', ...changed)
      rmSync(tarball, { force: true })
    }
  }
  console.log(`released as ${tag}. To publish: git push --follow-tags && npm publish ${tarball}`)
}

/** The version that is meant, which is newer than the current one and than every tag. */
function versionOf(wanted, current) {
  const parts = numbersOf(current)
  const at = ['major', 'minor', 'patch'].indexOf(wanted)
  const next =
    at === -1 ? wanted : parts.map((part, index) => (index < at ? part : index === at ? part + 1 : 0)).join('.')
  if (!/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(next)) {
    throw new Refusal(`"${next}" is no version: it is three numbers, such as ${parts[0]}.${parts[1] + 1}.0`, 2)
  }
  const tags = git('tag', '--list', 'v*')
    .split('\n')
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
  for (const earlier of [current, ...tags.map((tag) => tag.slice(1))]) {
    if (compare(numbersOf(next), numbersOf(earlier)) <= 0) throw new Refusal(`${next} is not newer than ${earlier}`)
  }
  return next
}

function numbersOf(version) {
  return version.split('.').map(Number)
}

function compare(left, right) {
  const at = left.findIndex((part, index) => part !== right[index])
  return at === -1 ? 0 : left[at] - right[at]
}

/** The texts of the files of the release. */
function nextFiles({ version, current, changelog }) {
  const [, before, changes, after] = /^([^]*?\n## Unreleased\n)([^]*?)((?:\n## [^]*)?)$/.exec(changelog) ?? []
  if (changes === undefined) throw new Refusal('CHANGELOG.md has no section "## Unreleased"')
  if (!/^- \S/m.test(changes)) throw new Refusal('the section "## Unreleased" of CHANGELOG.md is empty')
  const today = new Date().toISOString().slice(0, 10)
  const texts = versionFiles.map((file) => {
    const text = readFileSync(file, 'utf8')
    // of the package itself: in the lock, it is named twice at the start
    let left = file === 'package-lock.json' ? 2 : 1
    const next = text.replaceAll(current, (found) => (left-- > 0 ? version : found))
    if (left > 0) throw new Refusal(`${file} does not have the version ${current}`)
    return [file, next]
  })
  return [...texts, ['CHANGELOG.md', `${before}\n## ${version} - ${today}\n${changes.trimEnd()}\n${after}`]]
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' })
  if (status !== 0) throw new Refusal(`git ${args[0]} failed: ${stderr.trim()}`)
  return stdout
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) throw new Refusal(`${command} ${args[0]} failed${error === undefined ? '' : `: ${error.message}`}`)
}
