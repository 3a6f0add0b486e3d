import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'

const changelog = `# Changelog

## Unreleased

### Added

- A command.

## 0.1.0 - 2026-11-29

- The first release.
`

/** A repository with a package of its own, whose smoke test ends with this code. */
function repository(smokeCode = 0): string {
  const folder = tempTree({
    'package.json': '{\n  "name": "small",\n  "version": "0.1.0",\n  "files": ["src"]\n}\n',
    'package-lock.json':
      '{\n  "name": "small",\n  "version": "0.1.0",\n  "packages": {\n    "": { "name": "small", "version": "0.1.0" },\n    "node_modules/other": { "version": "0.1.0" }\n  }\n}\n',
    'src/version.ts': "export const version = '0.1.0'\n",
    'CHANGELOG.md': changelog,
    '.gitignore': '*.tgz\ntried\n',
    'scripts/smoke.mjs': `import { writeFileSync } from 'node:fs'
writeFileSync('tried', process.argv[2])
process.exitCode = ${smokeCode}
`,
  })
  mkdirSync(join(folder, 'scripts'), { recursive: true })
  copyFileSync(join(root, 'scripts/release.mjs'), join(folder, 'scripts/release.mjs'))
  const user = 'git config user.name Tester && git config user.email tester@example.com'
  const commit = 'git add --all && git commit --quiet --message Start'
  execFileSync('sh', ['-c', `git init --quiet && ${user} && ${commit}`], { cwd: folder })
  return folder
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
}

function release(folder: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', ...args], {
    cwd: folder,
    encoding: 'utf8',
  })
  return { code: status, stdout, stderr }
}

/** What a release could have changed. */
function stateOf(folder: string) {
  const files = ['package.json', 'package-lock.json', 'src/version.ts', 'CHANGELOG.md']
  return {
    texts: files.map((file) => readFileSync(join(folder, file), 'utf8')),
    commits: git(folder, 'log', '--format=%s'),
    tags: git(folder, 'tag'),
    status: git(folder, 'status', '--porcelain'),
  }
}

describe('npm run release', () => {
  it('writes the version and the changelog, tests the packed package, commits and tags', () => {
    const folder = repository()
    expect(release(folder, 'minor')).toMatchObject({ code: 0 })
    const { texts, commits, tags, status } = stateOf(folder)
    expect([commits, tags, status]).toEqual(['Release 0.2.0\nStart', 'v0.2.0', ''])
    expect(git(folder, 'show', '--no-patch', '--format=%s', 'v0.2.0^{commit}')).toBe('Release 0.2.0')
    const [own, lock, source, written] = texts
    expect(JSON.parse(own ?? '')).toMatchObject({ version: '0.2.0' })
    expect(JSON.parse(lock ?? '')).toMatchObject({
      version: '0.2.0',
      packages: { '': { version: '0.2.0' }, 'node_modules/other': { version: '0.1.0' } },
    })
    expect(source).toBe("export const version = '0.2.0'\n")
    expect(written).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- A command\.\n\n## 0\.1\.0 - /,
    )
    expect(readFileSync(join(folder, 'tried'), 'utf8')).toBe('small-0.2.0.tgz')
    expect(existsSync(join(folder, 'small-0.2.0.tgz'))).toBe(true)
  })

  it('changes nothing with --dry-run', () => {
    const folder = repository()
    const before = stateOf(folder)
    expect(release(folder, '0.2.0', '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('small 0.1.0 → 0.2.0'),
    })
    expect(stateOf(folder)).toEqual(before)
    expect(['tried', 'small-0.2.0.tgz'].filter((name) => existsSync(join(folder, name)))).toEqual([])
  })

  it('restores everything when the package does not work', () => {
    const folder = repository(1)
    const before = stateOf(folder)
    expect(release(folder, 'patch')).toMatchObject({ code: 1, stderr: expect.stringContaining('scripts/smoke.mjs') })
    expect(readFileSync(join(folder, 'tried'), 'utf8')).toBe('small-0.1.1.tgz')
    expect(stateOf(folder)).toEqual(before)
    expect(existsSync(join(folder, 'small-0.1.1.tgz'))).toBe(false)
  })

  it('restores everything when the tag cannot be made', () => {
    const folder = repository()
    // a folder where git would write the tag
    mkdirSync(join(folder, '.git/refs/tags/v0.1.1'), { recursive: true })
    writeFileSync(join(folder, '.git/refs/tags/v0.1.1/inside.lock'), '')
    const before = stateOf(folder)
    expect(release(folder, 'patch')).toMatchObject({ code: 1, stderr: expect.stringContaining('git tag failed') })
    expect(stateOf(folder)).toEqual(before)
  })

  // nothing in it may change, so that all share it
  const refusing = repository()
  const before = stateOf(refusing)
  it.each([
    ['a version that is the current one', ['0.1.0'], 1, '0.1.0 is not newer than 0.1.0'],
    ['an older version', ['0.0.9'], 1, '0.0.9 is not newer than 0.1.0'],
    ['what is no version', ['next'], 2, '"next" is no version'],
    ['a version with leading zeros', ['0.02.0'], 2, '"0.02.0" is no version'],
    ['no version', [], 2, 'name one version'],
    ['two versions', ['0.2.0', '0.3.0'], 2, 'name one version'],
    ['an option that does not exist', ['0.2.0', '--force'], 2, 'name one version'],
  ] as const)('refuses %s', (_, args, code, message) => {
    expect(release(refusing, ...args)).toMatchObject({ code, stderr: expect.stringContaining(message) })
    expect(stateOf(refusing)).toEqual(before)
  })

  it('refuses an existing version, a tree with uncommitted changes, and an empty changelog, also with --dry-run', () => {
    const folder = repository()
    git(folder, 'tag', 'v0.3.0')
    for (const dry of [[], ['--dry-run']]) {
      expect(release(folder, 'minor', ...dry)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('0.2.0 is not newer than 0.3.0'),
      })
      writeTree(folder, { 'new.txt': '' })
      expect(release(folder, '0.4.0', ...dry)).toMatchObject({ code: 1, stderr: expect.stringContaining('?? new.txt') })
      git(folder, 'clean', '--quiet', '--force')
    }
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog.replace('- A command.\n', ''))
    git(folder, 'commit', '--quiet', '--all', '--message', 'Nothing')
    const before = stateOf(folder)
    expect(release(folder, '0.4.0')).toMatchObject({ code: 1, stderr: expect.stringContaining('is empty') })
    expect(stateOf(folder)).toEqual(before)
  })
})
