import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

/** What agents are made of, and they themselves. */
const below = [
  'base',
  'settings',
  'event',
  'journal',
  'prompt',
  'config',
  'pack',
  'model',
  'tool',
  'mcp',
  'script',
  'agent',
]

// Imports point downward only. Files directly in src/ that are listed here are parts of the wiring.
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  settings: ['base'],
  event: ['base', 'settings'],
  prompt: ['base', 'settings'],
  config: ['base', 'settings', 'prompt', 'package-root.ts', 'model-names.ts'],
  pack: ['base', 'settings', 'config'],
  journal: ['base', 'event'],
  model: ['base', 'event', 'journal', 'model-names.ts'],
  tool: ['base', 'settings', 'event', 'journal'],
  mcp: ['base', 'event', 'journal', 'settings', 'config', 'tool', 'version.ts'],
  script: ['base', 'event', 'journal', 'prompt', 'pack', 'tool', 'mcp'],
  agent: below.filter((folder) => folder !== 'agent'),
  team: below,
  stage: ['base', 'event', 'settings', 'config', 'agent'],
  load: [...below, 'stage'],
  run: [...below, 'team', 'stage', 'watch', 'load'],
  plan: [...below, 'team', 'stage', 'load', 'run', 'render'],
  strategies: [...below, 'team', 'stage', 'watch', 'load', 'run', 'plan', 'render'],
  watch: ['base'],
  undo: ['base', 'event', 'journal', 'history', 'tool', 'version.ts'],
  history: ['base', 'event', 'journal'],
  render: ['base', 'event', 'journal', 'history'],
  report: ['base', 'event', 'journal', 'history', 'undo', 'render'],
  authoring: ['base', 'prompt', 'settings', 'config', 'pack', 'tool'],
  doctor: ['base', 'event', 'settings', 'config', 'journal', 'model', 'pack', 'agent', 'tool', 'mcp'],
  'build-id.ts': [],
  'chunk-loader.ts': ['code-cache.ts'],
  'code-cache.ts': ['base'],
  'version.ts': [],
  'task-worker.ts': ['base', 'prompt', 'history', 'report', 'script', 'tool'],
  'model-names.ts': [],
  'package-root.ts': [],
  testing: [
    'base',
    'event',
    'journal',
    'prompt',
    'settings',
    'config',
    'run',
    'load',
    'strategies',
    'wiring',
    'runner.ts',
    'package-root.ts',
    'version.ts',
  ],
  wiring: [
    'base',
    'event',
    'journal',
    'config',
    'pack',
    'model',
    'tool',
    'mcp',
    'agent',
    'team',
    'run',
    'load',
    'strategies',
    'watch',
    'prompt',
    'package-root.ts',
    'version.ts',
  ],
  chat: ['base', 'event', 'config', 'journal', 'history', 'run', 'load', 'wiring', 'runner.ts'],
  library: ['base', 'event', 'config', 'journal', 'run', 'load', 'wiring', 'watch', 'chat', 'runner.ts'],
  serve: [
    'base',
    'event',
    'prompt',
    'settings',
    'config',
    'journal',
    'history',
    'undo',
    'model',
    'tool',
    'mcp',
    'run',
    'load',
    'strategies',
    'watch',
    'plan',
    'testing',
    'authoring',
    'chat',
    'library',
    'wiring',
    'report',
    'render',
    'package-root.ts',
    'version.ts',
  ],
  // from all but base, only types and constants: it runs in a browser
  page: ['base', 'event', 'history', 'journal'],
  'runner.ts': ['base', 'event', 'journal', 'run', 'load', 'wiring', 'version.ts'],
  cli: [
    'base',
    'event',
    'journal',
    'history',
    'undo',
    'prompt',
    'settings',
    'config',
    'pack',
    'mcp',
    'run',
    'load',
    'strategies',
    'watch',
    'render',
    'report',
    'authoring',
    'doctor',
    'wiring',
    'chat',
    'serve',
    'runner.ts',
    'package-root.ts',
    'plan',
    'testing',
    'version.ts',
  ],
}

const root = join(import.meta.dirname, '../src')
const house = join(root, '../scripts/house.mjs')
const imports = JSON.parse(
  execFileSync(process.execPath, [house, '--imports'], { encoding: 'utf8', maxBuffer: 100_000_000 }),
) as Readonly<Record<string, readonly { readonly name: string; readonly target: string }[]>>
const files = Object.keys(imports)

/** The names of what a file imports, as they are written. */
function importsOf(file: string): readonly string[] {
  return (imports[file] ?? []).map(({ name }) => name)
}

function folderOf(file: string): string {
  return file.split('/')[0] ?? ''
}

/** The files of the program that a file imports. */
function locallyImportedBy(file: string): readonly string[] {
  return (imports[file] ?? []).filter(({ name }) => name.startsWith('.')).map(({ target }) => target)
}

function reachedFrom(file: string): readonly string[] {
  const reached = new Set<string>()
  const waiting = [...locallyImportedBy(file)]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next) || !files.includes(next)) continue
    reached.add(next)
    waiting.push(...locallyImportedBy(next))
  }
  return [...reached]
}

describe('architecture', () => {
  it('checks the real source tree', () => {
    expect(files.length).toBeGreaterThan(150)
    expect(
      files
        .map(folderOf)
        .filter((folder) => !(folder in mayImport) && !['index.ts', 'main.ts', 'process.ts'].includes(folder)),
    ).toEqual([])
  })

  it('imports in each file only what is below it', () => {
    const wrong = files
      .filter((file) => folderOf(file) in mayImport)
      .flatMap((file) => {
        const own = folderOf(file)
        const allowed = new Set([own, ...(mayImport[own] ?? [])])
        const others = locallyImportedBy(file).filter((target) => !allowed.has(folderOf(target)))
        return others.map((target) => `${file} imports ${target}`)
      })
    expect(wrong).toEqual([])
  })

  // schemas and components are languages in which many files are written
  it('imports each external package in one file only', () => {
    const users = new Map<string, Set<string>>()
    for (const file of files) {
      for (const specifier of importsOf(file).filter(
        (name) => !/^(?:\.|node:|(?:zod|preact(?:\/hooks)?)$)/.test(name),
      )) {
        users.set(specifier, (users.get(specifier) ?? new Set()).add(file))
      }
    }
    expect([...users].filter(([, seen]) => seen.size > 1)).toEqual([])
  })

  it('uses the package of the client protocol in one folder only', () => {
    const users = files.filter((file) => importsOf(file).some((name) => /(?:^|\/)sdk\.ts$/.test(name)))
    expect([...new Set(users.map((file) => dirname(file)))]).toEqual(['mcp/wire'])
  })

  it('accesses the process only at its edge', () => {
    const edge = new Set(['main.ts', 'process.ts', 'index.ts'])
    const users = files.filter((file) =>
      /\bprocess\.(?:env|cwd|argv|exit|stdout|stderr)\b/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(users.filter((file) => !edge.has(file))).toEqual([])
  })

  it('runs agents by one executor, whatever started them (R11)', () => {
    const makers = files.filter((file) => /\bcreateAgentExecutor\(/.test(readFileSync(join(root, file), 'utf8')))
    expect(makers.toSorted()).toEqual(['agent/executor.ts', 'wiring/run-context.ts'])
    // everything that calls a model is a kind of agent: chains, conversations and teams cannot bypass it
    const askers = files.filter((file) => importsOf(file).some((name) => name.endsWith('/model-call.ts')))
    expect(askers.filter((file) => !file.startsWith('agent/'))).toEqual([])
    expect(askers).toContain('agent/turns.ts')
  })

  it('reaches the agent loop only through the executor, and the loop does not know the executor or what starts agents (R9)', () => {
    const loop = 'agent/conversation.ts'
    expect(files.filter((file) => locallyImportedBy(file).includes(loop))).toEqual(['agent/executor.ts'])
    const below = reachedFrom(loop)
    expect(below).toContain('agent/model-call.ts')
    expect(below.filter((file) => /^(?:agent\/(?:executor|script-run)\.ts|team\/)/.test(file))).toEqual([])
  })

  it('has no new file with a single importer, and no larger import cycle', () => {
    const { status, stdout } = spawnSync(process.execPath, [house, '--check'], { encoding: 'utf8' })
    expect(stdout).toBe('')
    expect(status).toBe(0)
  })

  it('matches the table in ARCHITECTURE.md', () => {
    const page = readFileSync(join(root, '../ARCHITECTURE.md'), 'utf8')
    const rows = [...page.matchAll(/^\| (\w+)\/ \| .* \| (.*) \|$/gm)].map(([, folder = '', cell = '']) => ({
      folder,
      cell,
    }))
    const folders = Object.keys(mayImport).filter((name) => !name.endsWith('.ts'))
    expect(rows.map(({ folder }) => folder).toSorted()).toEqual(folders.toSorted())
    // other cells describe it in words
    const lists = rows.filter(({ cell }) => cell.split(', ').every((name) => name === 'nothing' || name in mayImport))
    expect(lists.length).toBeGreaterThan(12)
    for (const { folder, cell } of lists) {
      expect([folder, cell === 'nothing' ? [] : cell.split(', ')]).toEqual([folder, mayImport[folder]])
    }
  })
})
