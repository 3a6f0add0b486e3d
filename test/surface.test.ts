import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import * as surface from '../src/index.ts'
import { version } from '../src/version.ts'
import { root } from './helpers/baton.ts'

it('exports exactly these names', () => {
  expect(Object.keys(surface).toSorted()).toEqual([
    'BatonError',
    'approve',
    'conversationPrompts',
    'createConversations',
    'isBatonError',
    'reject',
    'resume',
    'run',
    'watch',
  ])
  const source = readFileSync(join(root, 'src/index.ts'), 'utf8')
  const types = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.replace('type', '').trim()),
  )
  expect(types.toSorted()).toEqual([
    'AnswerServer',
    'ApprovalAnswer',
    'ApprovalRequest',
    'ApprovalView',
    'Approve',
    'ApproveOptions',
    'BatonError',
    'Conversation',
    'ConversationEvent',
    'ConversationOptions',
    'Conversations',
    'Decided',
    'ErrorCode',
    'ErrorReason',
    'ExecutionMode',
    'Operation',
    'Plugin',
    'PluginFunction',
    'PluginTool',
    'Prompt',
    'RecordOptions',
    'RejectOptions',
    'ResumeOptions',
    'Run',
    'RunEvent',
    'RunOptions',
    'RunReport',
    'ServerAnswer',
    'ServerQuestion',
    'WatchOptions',
    'WatchSession',
    'WatchedRun',
    'isBatonError',
  ])
  // it fits on a page
  expect(source.split('\n').length).toBeLessThan(110)
})

it('has the same version everywhere', () => {
  const { version: packaged } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(version).toBe(packaged)
})

/** What the repository has for those who change Baton. Links to it from the packed pages work in the repository only. */
const forDevelopers =
  /^(?:ARCHITECTURE\.md$|\.github\/|docs\/(?:decisions|design|images)(?:\/|$)|docs\/requirements\.md$)/

it('packs the command, the library, its documents, agents, pipelines and starters, and nothing else', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ files: { path: string }[]; size: number }]
  expect(packed.files.length).toBeLessThanOrEqual(500)
  expect(packed.size).toBeLessThanOrEqual(3_000_000)
  const folders = new Set(packed.files.map(({ path }) => /^(?:dist\/)?[^/]+\/?/.exec(path)?.[0]))
  expect([...folders].toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'agents/',
    'dist/bin/',
    'dist/lib/',
    'docs/',
    'package.json',
    'pipelines/',
    'starters/',
  ])
  const paths = packed.files.map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'dist/bin/baton.js',
      'dist/lib/index.js',
      'dist/lib/index.d.ts',
      'docs/library.md',
      'agents/context-builder.aip',
      'pipelines/quickstart.md',
      'starters/pack/pack.toml',
    ]),
  )

  // a map without its source is useless
  expect(paths.filter((path) => path.endsWith('.map'))).toEqual([])
  // one file of declarations for each entry of `exports`, which uses nothing beside it
  expect(paths.filter((path) => path.endsWith('.d.ts'))).toEqual(['dist/lib/index.d.ts'])
  expect(readFileSync(join(root, 'dist/lib/index.d.ts'), 'utf8')).not.toMatch(/(?:from|import\()\s*["']\./)
  for (const document of paths.filter((path) => path.endsWith('.md') && /^(?:docs\/|[A-Z]+\.md$)/.test(path))) {
    const text = readFileSync(join(root, document), 'utf8')
    const links = [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
    const targets = links.map((target) => join(dirname(document), target).replace(/\/$/, ''))
    const isPacked = (target: string): boolean => paths.some((path) => path === target || path.startsWith(`${target}/`))
    expect(
      targets.filter((target) => !isPacked(target) && !forDevelopers.test(target)),
      document,
    ).toEqual([])
  }
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const code = [
    ...sources.map((name) => join('src', name)),
    ...paths.filter((path) => /^(?:agents|pipelines|starters)\//.test(path)),
  ]
  const pages = code.flatMap(
    (file) => readFileSync(join(root, file), 'utf8').match(/(?<!file_path=\\?")\bdocs\/[\w-]+\.md/g) ?? [],
  )
  expect(pages.length).toBeGreaterThan(2)
  expect([...new Set(pages)].filter((page) => !paths.includes(page))).toEqual([])
})
