import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')
const notOurs = new Set(['.git', 'node_modules', 'dist', 'coverage'])
const textFile = /\.(?:ts|mts|js|mjs|json|md|lua|aip|toml|yaml|yml|txt|sh)$|^[A-Z]+$/

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : filesBelow(path)
    return entry.isFile() && textFile.test(entry.name) && path !== import.meta.filename ? [path] : []
  })
}

const files = filesBelow(root)
const read = (path: string): string => readFileSync(path, 'utf8')

/** Names of documents that predate the repository, and numbers of sections and decisions in them. */
const outside = [
  /\bDESIGN(?:\.md)?\s+["\d]/,
  /(?<![\w/.@-])spec\/[a-z][\w-]*/,
  /\b(?:lua-engines|conventions|pro-coder)\.md\b/,
  /\bP-D\d/,
  /\((?:[^()\n]*, )?D\d{1,2}(?:, [^()\n]*)?\)/,
]

describe('files of the repository', () => {
  it('are searched for references to documents outside of it', () => {
    const wrong = ['(DESIGN 8 "Budget")', 'see spec/engines.md D2', '(R289..R300, D38)', '(D29)', '(P-D8)']
    expect(wrong.filter((text) => !outside.some((pattern) => pattern.test(text)))).toEqual([])
    const right = ['test/spec/x', 'docs/aipack.md', 'a target.spec/agents', 'DESIGNED', '(R276)', '`D1`']
    expect(right.filter((text) => outside.some((pattern) => pattern.test(text)))).toEqual([])
  })

  it('do not refer to documents or decisions that a reader cannot open', () => {
    expect(files.length).toBeGreaterThan(800)
    const found = files.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) =>
          outside.some((pattern) => pattern.test(line)) ? [`${relative(root, path)}:${index + 1}: ${line.trim()}`] : [],
        ),
    )
    expect(found).toEqual([])
  })

  it('say in src/ what is required, instead of citing a requirement number', () => {
    const found = files
      .filter((path) => path.startsWith(join(root, 'src')) && path.endsWith('.ts'))
      .flatMap((path) =>
        read(path)
          .split('\n')
          .filter((line) => /^\s*(?:\/?\*|\/\/).*\b(?:R|TV)\d+\b/.test(line))
          .map((line) => `${relative(root, path)}: ${line.trim()}`),
      )
    expect(found).toEqual([])
  })

  it('name only existing pages of docs/ in comments', () => {
    const named = files.flatMap((path) => {
      const shown = relative(root, path)
      if (/^docs\/|\/fixtures\//.test(shown)) return []
      const lines = read(path).split('\n')
      const text = shown.endsWith('.md') ? lines : lines.filter((line) => /^\s*(?:\/?\*|\/\/)/.test(line))
      const pages = [...text.join('\n').matchAll(/(?<![\w/.-])docs\/[\w/.-]+\.md\b/g)]
      return pages.map(([page]) => ({ shown, page }))
    })
    expect(named.length).toBeGreaterThan(20)
    const missing = named.filter(({ page }) => !existsSync(join(root, page)))
    expect(missing).toEqual([])
  })
})

it.skipIf(!existsSync(join(root, '.git')))('the top level contains what tools look for there, and nothing else', () => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const top = new Set(tracked.map((path) => path.split('/')[0]))
  const content = ['src', 'test', 'agents', 'pipelines', 'starters', 'docs', 'bench', 'scripts']
  const readFirst = ['README.md', 'ARCHITECTURE.md', 'AGENTS.md', 'CHANGELOG.md', 'LICENSE']
  const ofNpm = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json']
  const ofChecks = ['.oxfmtrc.json', '.oxlintrc.json', 'knip.json', 'vitest.config.ts', '.ci']
  const ofGit = ['.gitattributes', '.gitignore']
  // of GitHub (also how to contribute and how to report a vulnerability), and of editors
  const ofOthers = ['.github', '.editorconfig', '.vscode', '.devcontainer']
  const known = [content, readFirst, ofNpm, ofChecks, ofGit, ofOthers].flat()
  expect([...top].toSorted()).toEqual(known.toSorted())
})

it('CI runs .ci/run on the supported versions of Node', () => {
  const { jobs } = parse(read(join(root, '.github/workflows/ci.yml'))) as {
    readonly jobs: { readonly check: { readonly strategy: { readonly matrix: { readonly node: readonly string[] } } } }
  }
  expect(read(join(root, '.github/workflows/ci.yml'))).toMatch(/^ +- run: \.ci\/run$/m)
  const { engines } = JSON.parse(read(join(root, 'package.json'))) as { readonly engines: { readonly node: string } }
  const [oldest, ...later] = jobs.check.strategy.matrix.node
  expect(`>=${oldest}`).toBe(engines.node)
  expect(read(join(root, 'scripts/smoke.mjs'))).toContain(['20', ...later].map((major) => `'${major}'`).join(', '))
})

it.each(['bug', 'idea'])('the issue form %s has a name and fields with labels', (name) => {
  const form = parse(read(join(root, `.github/ISSUE_TEMPLATE/${name}.yml`))) as {
    readonly name: string
    readonly body: readonly { readonly type: string; readonly attributes: { readonly label?: string } }[]
  }
  const fields = form.body.filter(({ type }) => type !== 'markdown')
  expect(form.name).toMatch(/\w/)
  expect(fields.length).toBeGreaterThan(1)
  expect(fields.filter(({ attributes }) => attributes.label === undefined)).toEqual([])
})

it('ARCHITECTURE.md and docs/design/ name only files that exist', () => {
  const pages = ['ARCHITECTURE.md', ...readdirSync(join(root, 'docs/design')).map((name) => `docs/design/${name}`)]
  // a path is relative to the repository, to the page, or to a folder of src/
  const below = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  const folders = below.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
  const missing = pages.flatMap((page) => {
    const places = [root, join(root, 'docs'), dirname(join(root, page)), join(root, 'src'), ...folders]
    const text = read(join(root, page))
    const named = [...text.matchAll(/(?<![\w/.@-])(?:\.\.\/)*(?:[\w@-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|mjs|md)\b/g)]
    const paths = named.map(([path]) => path).filter((path) => !path.endsWith('/x.ts'))
    expect(paths.length, page).toBeGreaterThan(2)
    const absent = paths.filter((path) => !places.some((place) => existsSync(join(place, path))))
    return absent.map((path) => `${page}: ${path}`)
  })
  expect(missing).toEqual([])
})

it('package-lock.json contains the packages of all platforms (otherwise: node scripts/complete-lock.mjs)', () => {
  const { packages } = JSON.parse(read(join(root, 'package-lock.json'))) as {
    readonly packages: { readonly [folder: string]: { readonly optionalDependencies?: object } }
  }
  const isLocked = (name: string): boolean =>
    Object.keys(packages).some((folder) => folder.endsWith(`node_modules/${name}`))
  const optional = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
  expect(optional.length).toBeGreaterThan(0)
  expect(optional.filter((name) => !isLocked(name))).toEqual([])
})

it('the client of the conformance suite loads only built files that have a source file', () => {
  const text = read(join(root, 'scripts/mcp-conformance-client.mjs'))
  const loaded = [...text.matchAll(/'((?:[\w-]+\/)+[\w-]+)\.js'/g)].map(([, file = '']) => file)
  expect(loaded.length).toBeGreaterThan(2)
  expect(loaded.filter((file) => !existsSync(join(root, 'src', `${file}.ts`)))).toEqual([])
})

describe('docs/decisions', () => {
  it('name only files that exist', () => {
    const folder = join(root, 'docs/decisions')
    const missing = readdirSync(folder).flatMap((name) =>
      [...read(join(folder, name)).matchAll(/`((?:src|test|scripts|agents)\/[^`\s]+)`/g)]
        .filter(([, path = '']) => !existsSync(join(root, path)))
        .map(([, path]) => `${name}: ${path}`),
    )
    expect(missing).toEqual([])
  })
})

describe('the nouns of ARCHITECTURE.md', () => {
  const rows = [...read(join(root, 'ARCHITECTURE.md')).matchAll(/^\| `(\w+)` \| ([\w/-]+\.ts) \|/gm)]

  it.each(rows.map(([, noun = '', file = '']) => [noun, file]))('%s is exported by %s', (noun, file) => {
    expect(read(join(root, 'src', file))).toMatch(
      new RegExp(`^export (?:interface|type|const|function) ${noun}\\b`, 'm'),
    )
  })

  it('are found in the table', () => expect(rows.length).toBeGreaterThan(20))
})
