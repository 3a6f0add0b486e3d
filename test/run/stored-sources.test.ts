import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bothReads, type ReadLog } from '../../src/base/reads.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { type RunContext, withServices } from '../../src/event/context.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { createMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { resolveAgent } from '../../src/pack/resolve.ts'
import { changedSources, type StoredSources, storedSources } from '../../src/run/sources.ts'
import { recordSources } from '../../src/run/record.ts'
import { createStoredSources, type SourceRecorder } from '../../src/run/stored-sources.ts'
import { loadTarget, type Target } from '../../src/load/target.ts'
import { maskFor } from '../../src/wiring/run-context.ts'
import { moveEntry, saveFile } from '../../src/tool/workspace-files.ts'
import { builtInDir } from '../helpers/agents.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'
import { openGate, placeAt } from '../helpers/effects.ts'
import { item } from '../../src/event/place.ts'
import { strategies } from '../../src/strategies/strategies.ts'

type Env = Readonly<Record<string, string>>

interface World {
  readonly root: string
  readonly at: (path: string) => string
  readonly write: (path: string, text: string) => void
  readonly remove: (path: string) => void
  readonly load: (file: string, reads?: ReadLog) => Promise<Target>
  /** Starts an epoch: loads, stores the sources, and does `work` before the process ends. */
  readonly epoch: (file: string, options?: EpochOptions) => Promise<Target>
  /** What the run has stored. */
  readonly stored: () => Promise<StoredSources>
  /** What differs on disk. */
  readonly changed: () => Promise<readonly string[]>
  readonly find: (name: string, recorder: SourceRecorder) => string
  /** Writes as a script does. */
  readonly save: (path: string, text: string, context: RunContext) => void
}

interface EpochOptions {
  readonly stored?: StoredSources
  readonly work?: (recorder: SourceRecorder, context: RunContext) => void
}

function world(files: { readonly [path: string]: string }, env: Env = {}): World {
  const root = tempTree({ 'ws/.git/HEAD': 'x', 'run/x': '', ...files })
  const workspace = join(root, 'ws')
  const folder = join(root, 'run')
  const at = (path: string): string => join(root, path)
  const runEnv = { BATON_HOME: at('home'), ...env }
  const load: World['load'] = (file, reads) =>
    loadTarget({
      strategies,
      file,
      cwd: workspace,
      env: runEnv,
      home: root,
      flags: { overrides: [] },
      builtInDir,
      reads,
    })
  const stored = async (): Promise<StoredSources> => {
    const mask = createMask(runEnv, { names: Object.keys(runEnv) })
    const source = openFileRecords(folder, { mask })
    try {
      const index = await indexRun(source, { keeps: 'unfinished' })
      return storedSources(index.records('source'), (field) => source.value(field))
    } finally {
      source.close()
    }
  }
  return {
    root,
    at,
    write(path, text) {
      mkdirSync(dirname(at(path)), { recursive: true })
      writeFileSync(at(path), text)
    },
    remove: (path) => rmSync(at(path), { recursive: true }),
    load,
    async epoch(file, { stored: before, work } = {}) {
      const recorder = createStoredSources({ stored: before })
      const options = { file, cwd: workspace, env: runEnv, home: root, flags: { overrides: [] }, builtInDir }
      const target = await loadTarget({ strategies, ...options, reads: recorder.reads })
      const journal = await openRun({ folder, now: () => new Date(0), mask: await maskFor(target, runEnv) })
      recordSources(journal, target, recorder)
      const signal = new AbortController().signal
      const effects = createEffects({ ...openGate, journal, signal, hooks: [recorder.hook(workspace)] })
      work?.(recorder, withServices(testContext({ workspace }), { effects }))
      // a later writer may take over
      journal.note({ k: 'run.end', exit: 1, stop: 'error' })
      await journal.close()
      return target
    },
    stored,
    changed: async () =>
      changedSources(await stored()).map(({ path, change }) => `${path.slice(root.length + 1)} ${change}`),
    find: (name, { reads }) =>
      resolveAgent(name, { baseDir: workspace, builtInDir, packRoots: [at('ws/packs')], reads }).text,
    save: (path, text, context) => saveFile(at(path), text, { context, at: [item('save'), item(path), item(text)] }),
  }
}

function journalText(root: string): string {
  const names = readdirSync(join(root, 'run')).filter((name) => name.startsWith('j-'))
  return names.map((name) => readFileSync(join(root, 'run', name), 'utf8')).join('')
}

/** Everything about a target except its functions. */
function dataOf(target: Target): unknown {
  return JSON.parse(JSON.stringify(target))
}

const everything = {
  'ws/ask.md': `+++
agent = "answer.md"
sub_agents = ["agents/one", "ns@pack/two", "@bare", "nested.md"]
temperature = 0.5

[output]
schema = "schema.json"
+++
Ask

====
`,
  'ws/baton.toml': 'model = "from-workspace"\n',
  'ws/.aipack/config.toml': '[options]\ntop_p = 0.25\n',
  'home/config/config.toml': '[retry]\nmax_attempts = 7\n',
  '.aipack-base/config-user.toml': '[options]\ntemperature = 0.75\n',
  'ws/agents/one.lua': 'return 1',
  'ws/.baton/packs/ns/pack/two.aip': '# Instruction\n\ntwo\n',
  'ws/.baton/packs/ns/pack/pack.toml': '[baton]\nmerge = "deep"\n',
  '.aipack-base/pack/custom/some/bare/main.aip': '# Instruction\n\nbare\n',
  'ws/nested.md': '+++\nsub_agents = ["deep.lua"]\n+++\nNested\n',
  'ws/deep.lua': 'return 2',
  'ws/answer.md': 'Answer\n',
  'ws/schema.json': '{ "type": "object" } // comment',
}

describe('a target from stored sources', () => {
  it('is unchanged after every file has changed', async () => {
    const { epoch, write, load, stored, changed } = world(everything)
    const first = await epoch('ask.md')
    expect(await changed()).toEqual([])
    for (const path of Object.keys(everything))
      write(path, path.endsWith('.toml') ? 'model = "other"\n' : '{ "other": 1 }\n')

    const again = await load('ask.md', createStoredSources({ stored: await stored() }).reads)
    expect(dataOf(again)).toEqual(dataOf(first))
    expect(await changed()).toEqual(
      Object.keys(everything)
        .map((path) => `${path} changed`)
        .toSorted(),
    )
    expect(again.settings).toMatchObject({ model: 'from-workspace', temperature: 0.5, retry: { max_attempts: 7 } })
    if (again.kind !== 'prompt') throw new Error('a prompt file')
    expect(await again.findAgent({ name: 'ns@pack/two' } as never)).toMatchObject({ merge: 'deep' })
  })

  it('is unchanged after all files were deleted', async () => {
    const { epoch, root, remove, load, stored, changed } = world(everything)
    const first = await epoch('ask.md')
    const before = await stored()
    for (const path of ['ws/agents', 'ws/.baton', 'ws/.git', 'ws/.aipack', 'home', '.aipack-base']) remove(path)
    for (const path of ['ask.md', 'baton.toml', 'nested.md', 'deep.lua', 'answer.md', 'schema.json'])
      remove(`ws/${path}`)

    const again = await load('ask.md', createStoredSources({ stored: before }).reads)
    expect(dataOf(again)).toEqual(dataOf(first))
    const gone = await changed()
    expect(gone).toEqual(expect.arrayContaining(Object.keys(everything).map((path) => `${path} gone`)))
    expect(existsSync(join(root, 'ws/ask.md'))).toBe(false)
  })

  it('ignores new files that would shadow the found ones', async () => {
    const { epoch, write, load, stored, changed } = world({
      'ws/deep/x.txt': '',
      'ws/a.lua': 'return 1',
      'ws/ask.md': '+++\nsub_agents = ["a", "code-map", "@two"]\n+++\nHi\n',
      '.aipack-base/pack/installed/ns/two/main.aip': '# Instruction\n\ntwo\n',
    })
    const first = await epoch('ask.md')
    write('ws/a.aip', '# Instruction\n\nother\n')
    write('ws/baton.toml', 'model = "new"\n')
    write('ws/code-map.lua', 'return "mine"')
    write('.aipack-base/pack/installed/other/two/main.aip', '# Instruction\n\nother\n')

    const again = await load('ask.md', createStoredSources({ stored: await stored() }).reads)
    expect(dataOf(again)).toEqual(dataOf(first))
    expect(await changed()).toEqual([
      '.aipack-base/pack/installed changed',
      'ws/a.aip new',
      'ws/baton.toml new',
      'ws/code-map.lua new',
    ])
  })

  it.each(['a.lua', 'folder', 'ns@pack', 'plain', './plain.txt'])(
    'that is named %s is the same kind of target',
    async (name) => {
      const { epoch, remove, load, stored } = world({
        'ws/a.lua': 'return 1',
        'ws/folder/main.aip': '# Output\n',
        'ws/.baton/packs/ns/pack/main.lua': 'return 2',
        'ws/plain': 'Hi',
        'ws/plain.txt': 'Hi',
      })
      const first = await epoch(name)
      const before = await stored()
      for (const path of ['a.lua', 'folder', '.baton', 'plain', 'plain.txt']) remove(`ws/${path}`)
      expect(dataOf(await load(name, createStoredSources({ stored: before }).reads))).toEqual(dataOf(first))
    },
  )

  it('can have agents of any size', async () => {
    const large = `-- ${'x'.repeat(2_000_000)}\nreturn 1`
    const { epoch, write, load, stored, root } = world({ 'ws/a.lua': large })
    await epoch('a.lua')
    write('ws/a.lua', '-- 2')
    const [agent] = (await load('a.lua', createStoredSources({ stored: await stored() }).reads)).agents
    expect(agent?.text).toBe(large)
    const lines = journalText(root)
    expect(lines).toContain('$blob')
    expect(lines.length).toBeLessThan(20_000)

    write('ws/a.lua', 'x'.repeat(11_000_000))
    await expect(load('a.lua', createStoredSources().reads)).rejects.toMatchObject({ code: 'FILE_UNREADABLE' })
  })
})

describe('prompt files', () => {
  it('are unchanged while only the part below ==== has changed, which is not stored', async () => {
    const { epoch, write, changed, root } = world({ 'ws/ask.md': 'Ask\n\n====\n\nan old answer\n' })
    await epoch('ask.md')
    expect(journalText(root)).toContain('Ask')
    expect(journalText(root)).not.toContain('an old answer')
    write('ws/ask.md', 'Ask\n\n====\n\na new one\n')
    expect(await changed()).toEqual([])
    write('ws/ask.md', 'Ask more\n\n====\n\na new one\n')
    expect(await changed()).toEqual(['ws/ask.md changed'])
  })
})

describe('secrets in sources', () => {
  const files = {
    'ws/ask.md': 'Ask\n',
    'home/config/config.toml': '[providers.mine]\nbase_url = "http://127.0.0.1:9/v1?key=only-in-the-address"\n',
    'ws/a.lua': 'return "a-secret-of-the-environment"',
  }
  const env = { SOME_API_KEY: 'a-secret-of-the-environment' }

  it('are restored from the environment and never written', async () => {
    const { epoch, stored, at, root } = world(files, env)
    await epoch('a.lua')
    expect((await stored()).start.get(at('ws/a.lua'))).toMatchObject({
      isWhole: true,
      entry: { text: files['ws/a.lua'] },
    })
    const lines = journalText(root)
    expect(lines).toContain('«secret:SOME_API_KEY»')
    expect(lines).not.toContain('only-in-the-address')
  })

  it('that only the file contains are read from the disk', async () => {
    const { epoch, stored, load, write, at } = world(files, env)
    const first = await epoch('ask.md')
    write('ws/ask.md', 'Other\n')
    const before = await stored()
    expect(before.start.get(at('home/config/config.toml'))).toMatchObject({ isWhole: false })
    expect(dataOf(await load('ask.md', createStoredSources({ stored: before }).reads))).toEqual(dataOf(first))
    write('home/config/config.toml', '')
    expect(changedSources(before)).toEqual([
      { path: at('home/config/config.toml'), change: 'changed', used: 'disk' },
      { path: at('ws/ask.md'), change: 'changed', used: 'stored' },
    ])
  })
})

describe('agents that are read during the run', () => {
  const files = { 'ws/main.lua': '', 'ws/helper.lua': 'one' }

  it('are the ones the run had read, each content stored once', async () => {
    const { epoch, find, write, stored, root } = world(files)
    await epoch('main.lua', {
      work(recorder) {
        for (let count = 0; count < 3; count += 1) expect(find('helper', recorder)).toBe('one')
      },
    })
    const lines = journalText(root).split('\n')
    expect(lines.filter((line) => line.includes('helper.lua'))).toHaveLength(1)
    write('ws/helper.lua', 'an edit after the crash')
    write('ws/helper.aip', 'something new')
    await epoch('main.lua', {
      stored: await stored(),
      work: (recorder) => expect(find('helper', recorder)).toBe('one'),
    })
    await epoch('main.lua', {
      stored: await stored(),
      work: (recorder) => expect(find('helper', recorder)).toBe('one'),
    })
    await epoch('main.lua', { work: (recorder) => expect(() => find('helper', recorder)).toThrow('ambiguous') })
  })

  it('are in the state that the run itself has written', async () => {
    const { epoch, find, write, save, stored, changed, at } = world(files)
    await epoch('main.lua', {
      work(recorder, context) {
        find('helper', recorder)
        save('ws/helper.lua', 'two', context)
      },
    })
    expect((await stored()).later.get(at('ws/helper.lua'))).toEqual({ path: at('ws/helper.lua'), changed: true })
    expect(await changed()).toEqual([])
    await epoch('main.lua', {
      stored: await stored(),
      work(recorder) {
        expect(find('helper', recorder)).toBe('two')
        // as a command does
        write('ws/helper.lua', 'three')
        expect(find('helper', recorder)).toBe('three')
      },
    })
    write('ws/helper.lua', 'an edit after the crash')
    expect(await changed()).toEqual(['ws/helper.lua changed'])
    await epoch('main.lua', {
      stored: await stored(),
      work(recorder, context) {
        expect(find('helper', recorder)).toBe('three')
        save('ws/helper.lua', 'four', context)
        expect(find('helper', recorder)).toBe('four')
        save('ws/helper.lua', 'five', context)
      },
    })
    await epoch('main.lua', {
      stored: await stored(),
      work: (recorder) => expect(find('helper', recorder)).toBe('five'),
    })
  })

  it('are found in packs that the run itself has created, moved or removed', async () => {
    const { epoch, find, save, stored, at } = world({ 'ws/main.lua': '', 'ws/packs/ns/old/main.lua': 'old' })
    await epoch('main.lua', {
      work(recorder, context) {
        expect(() => find('ns@new', recorder)).toThrow('No aipack matches')
        expect(find('ns@old', recorder)).toBe('old')
        save('ws/packs/ns/new/main.lua', 'new', context)
        const moved = { source: at('ws/packs/ns/old'), destination: at('ws/packs/ns/moved'), overwrite: false }
        moveEntry(moved, { context, at: placeAt('move') })
      },
    })
    await epoch('main.lua', {
      stored: await stored(),
      work(recorder) {
        expect(find('ns@new', recorder)).toBe('new')
        expect(find('ns@moved', recorder)).toBe('old')
        expect(() => find('ns@old', recorder)).toThrow('No aipack matches')
      },
    })
  })

  it('do not affect what the run began with', async () => {
    const { epoch, find, write, stored, load } = world({ 'ws/main.lua': 'one' })
    await epoch('main.lua', {
      work(recorder) {
        write('ws/main.lua', 'two')
        expect(find('main.lua', recorder)).toBe('two')
      },
    })
    const recorder = createStoredSources({ stored: await stored() })
    expect((await load('main.lua', recorder.reads)).agents[0]?.text).toBe('one')
    recorder.begin({ note: () => 0 })
    expect(find('main.lua', recorder)).toBe('two')
  })
})

describe('an epoch', () => {
  it('that began from the disk replaces the earlier one, unless it did not come to its end', async () => {
    const { epoch, write, stored, at, root } = world({ 'ws/a.lua': 'one' })
    await epoch('a.lua')
    write('ws/a.lua', 'two')
    await epoch('a.lua')
    const journal = await openRun({ folder: join(root, 'run'), now: () => new Date(0), mask: createMask({}) })
    journal.note({ k: 'source', name: 'a', path: at('ws/a.lua'), hash: '', value: 'three' })
    await journal.close()
    expect((await stored()).start.get(at('ws/a.lua'))).toMatchObject({ entry: { text: 'two' }, isWhole: true })
  })
})

it('two logs are both notified, and the one with sources decides what is stored', async () => {
  const { epoch, write, load, stored, at } = world({ 'ws/a.lua': 'one' })
  await epoch('a.lua')
  write('ws/a.lua', 'two')
  const told: string[] = []
  const log: ReadLog = {
    file: (path, text) => text !== undefined && told.push(`${path} ${text}`),
    prompt: () => {},
    list: () => {},
  }
  const { reads } = createStoredSources({ stored: await stored() })
  expect((await load('a.lua', bothReads(log, reads))).agents[0]?.text).toBe('one')
  expect(told).toEqual([`${at('ws/a.lua')} one`])
})
