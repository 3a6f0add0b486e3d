import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defaultMerge } from '../../src/pack/pack-manifest.ts'
import { findAgent, resolveAgent } from '../../src/pack/resolve.ts'
import { targetKind } from '../../src/load/target.ts'
import { tempTree } from '../helpers/temp.ts'

const builtInDir = join(import.meta.dirname, '../../agents')

function world(...files: readonly string[]): {
  readonly root: string
  readonly find: (name: string) => string
  readonly options: Parameters<typeof resolveAgent>[1]
} {
  const root = tempTree(Object.fromEntries(files.map((file) => [file, ''])))
  const options = { baseDir: root, builtInDir, packRoots: [join(root, 'packs')] }
  return { root, options, find: (name) => resolveAgent(name, options).file.slice(root.length + 1) }
}

describe('local agents (vector 10)', () => {
  it.each([
    ['agent.aip', ['agent.aip', 'agent.aip.aip'], 'agent.aip'],
    ['agent.lua', ['agent.lua'], 'agent.lua'],
    ['directory/', ['directory.aip', 'directory/main.aip'], 'directory/main.aip'],
    ['directory/', ['directory/main.lua'], 'directory/main.lua'],
    ['a/b', ['a/b.aip', 'a/b/main.aip'], 'a/b.aip'],
    ['a/b', ['a/b.lua', 'a/b/main.aip'], 'a/b.lua'],
    ['a/b', ['a/b/main.aip'], 'a/b/main.aip'],
    ['x@2.aip', ['x@2.aip'], 'x@2.aip'],
    ['x@2', ['x@2.aip'], 'x@2.aip'],
    ['./ns@p', ['ns@p.aip'], 'ns@p.aip'],
  ])('%s among %j', (name, files, expected) => {
    expect(world(...files).find(name)).toBe(expected)
  })

  it.each([
    ['a', ['a.aip', 'a.lua']],
    ['a/', ['a/main.aip', 'a/main.lua']],
    ['main', ['main.aip', 'main.lua']],
  ])('%s is ambiguous among %j', (name, files) => {
    expect(() => world(...files).find(name)).toThrow(expect.objectContaining({ code: 'AGENT_AMBIGUOUS' }))
  })

  it('are refused if a prompt file is a link that leads outside the workspace', () => {
    const outside = tempTree({ 'x.md': 'secret' })
    const { root, options } = world('real.md')
    symlinkSync(join(outside, 'x.md'), join(root, 'x.md'))
    symlinkSync('real.md', join(root, 'inner.md'))
    symlinkSync(outside, join(root, 'sub'))
    const guard = { workspace: root, trustFile: join(outside, 'trust.json') }
    for (const name of ['x.md', './x.md', 'sub/x.md']) {
      expect(() => resolveAgent(name, { ...options, guard }), name).toThrow(
        expect.objectContaining({
          code: 'OUTSIDE_WORKSPACE',
          message: expect.stringContaining('leads outside the workspace through the link'),
        }),
      )
    }
    expect(resolveAgent('inner.md', { ...options, guard }).kind).toBe('prompt')
    expect(resolveAgent(join(outside, 'x.md'), { ...options, guard }).text).toBe('secret')
  })

  it('are explained for AIPack users when there are none', () => {
    const { find, options } = world()
    expect(() => find('missing-agent')).toThrow(
      expect.objectContaining({
        code: 'AGENT_NOT_FOUND',
        message: expect.stringContaining("No agent found for local path: 'missing-agent'"),
        hint: expect.stringContaining('missing-agent/main.aip'),
      }),
    )
    expect(findAgent('missing-agent', options)).toBeUndefined()
    const inFolder = world('agents/greet.aip')
    expect(() => inFolder.find('greet')).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/^Did you mean "agents\/greet"\?/) }),
    )
  })

  it('are named with the place of the name in every error', () => {
    const { options } = world()
    const place = { file: 'ask.md', line: 3 }
    for (const name of ['missing', 'no@pack', 'no@@pack', 'missing.md']) {
      expect(() => resolveAgent(name, { ...options, place }), name).toThrow(expect.objectContaining({ place }))
    }
  })
})

describe('agents of packs', () => {
  const pack = ['packs/ns_a/pack_a_1/main.aip', 'packs/ns_a/pack_a_1/sub/agent.aip', 'packs/ns_a/pack_a_1/sub/main.aip']

  it.each([
    ['ns_a@pack_a_1', 'main.aip'],
    ['@pack_a_1', 'main.aip'],
    ['ns_a@pack_a_1/', 'main.aip'],
    ['ns_a@pack_a_1/sub/agent', 'sub/agent.aip'],
    ['ns_a@pack_a_1/sub/agent.aip', 'sub/agent.aip'],
    ['ns_a@pack_a_1/sub', 'sub/main.aip'],
  ])('%s is %s (vector 11)', (name, expected) => {
    expect(world(...pack).find(name)).toBe(`packs/ns_a/pack_a_1/${expected}`)
  })

  it('know the pack through which they were named', () => {
    const { root, options } = world(...pack)
    expect(resolveAgent('@pack_a_1/sub', options)).toMatchObject({
      name: '@pack_a_1/sub',
      builtIn: false,
      pack: {
        namespace: 'ns_a',
        name: 'pack_a_1',
        identity: 'ns_a@pack_a_1',
        ref: 'ns_a@pack_a_1/sub',
        subPath: 'sub',
        dir: join(root, 'packs/ns_a/pack_a_1'),
      },
    })
    expect(resolveAgent('packs/ns_a/pack_a_1/main', options).pack).toBeUndefined()
  })

  it('are found before a local file of the same name', () => {
    expect(world(...pack, 'ns_a@pack_a_1.aip').find('ns_a@pack_a_1')).toBe('packs/ns_a/pack_a_1/main.aip')
  })

  it('can be built-in', () => {
    expect(resolveAgent('baton@core/context-builder', world().options)).toMatchObject({
      builtIn: true,
      file: join(builtInDir, 'context-builder.aip'),
    })
  })

  it.each([
    ['nope@nope', 'No aipack matches for nope@nope'],
    ['ns_a@pack_a_1/other', 'there is no agent "ns_a@pack_a_1/other": the pack has no such file'],
    ['ns_a@pack_a_1$base/x', 'names a support folder'],
    ['ns@@x', '"ns@@x" is not a pack reference: it has more than one @'],
  ])('%s is an error', (name, message) => {
    expect(() => world(...pack).find(name)).toThrow(message)
  })
})

describe('prompt files', () => {
  const pack = ['packs/ns/p/tone.md', 'prompts/tone.md', 'other/tone.md.aip']

  it.each([
    ['prompts/tone.md', 'prompts/tone.md'],
    ['./prompts/tone.md', 'prompts/tone.md'],
    ['ns@p/tone.md', 'packs/ns/p/tone.md'],
  ])('%s is one', (name, expected) => {
    const { root, options } = world(...pack)
    const agent = resolveAgent(name, options)
    expect(agent).toMatchObject({ kind: 'prompt', name, builtIn: false })
    expect(agent.file.slice(root.length + 1)).toBe(expected)
  })

  it.each(['prompts/tone', 'other/tone.md', 'README.md'])('%s is not one', (name) => {
    expect(() => world(...pack).find(name)).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
  })

  it('are distinguished from scripts by the extension', () => {
    const { options } = world(...pack)
    expect(resolveAgent('prompts/tone.md', options).kind).toBe('prompt')
    expect(resolveAgent('other/tone.md.aip', options).kind).toBe('aip')
  })
})

describe('the default merge', () => {
  async function mergeOf(name: string, manifest?: string): Promise<string> {
    const root = tempTree({
      'packs/ns/p/main.aip': '',
      'local.aip': '',
      ...(manifest === undefined ? {} : { 'packs/ns/p/pack.toml': manifest }),
    })
    return defaultMerge(resolveAgent(name, { baseDir: root, builtInDir, packRoots: [join(root, 'packs')] }))
  }

  it('is replace for paths and built-in agents, shallow for packs', async () => {
    expect(await mergeOf('local')).toBe('replace')
    expect(await mergeOf('baton@core/context-builder')).toBe('replace')
    expect(await mergeOf('ns@p')).toBe('shallow')
    expect(await mergeOf('packs/ns/p/main.aip', '[baton]\nmerge = "deep"')).toBe('replace')
  })

  it('is the one in pack.toml', async () => {
    expect(await mergeOf('ns@p', '[pack]\nname = "p"\n\n[baton]\nmerge = "deep"\n')).toBe('deep')
    expect(await mergeOf('ns@p', '[pack]\nname = "p"\n')).toBe('shallow')
  })

  it('refuses an invalid value in pack.toml, at its line', async () => {
    await expect(mergeOf('ns@p', '\n[baton]\nmerge = "most"\n')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      place: { line: 3 },
    })
    await expect(mergeOf('ns@p', 'x =')).rejects.toMatchObject({ code: 'CONFIG_INVALID', place: { line: 1 } })
  })
})

describe('words of the command line', () => {
  const cwd = tempTree({ 'ask.md': '', ask: '', 'notes.v2.aip': '', 'note@home.txt': '', 'folder/main.aip': '' })

  it.each([
    ['ask.md', 'prompt'],
    ['missing.md', 'prompt'],
    ['ask', 'prompt'],
    ['note@home.txt', 'prompt'],
    ['missing.txt', 'prompt'],
    ['-', 'prompt'],
    ['x.aip', 'agent'],
    ['x.lua', 'agent'],
    ['folder/', 'agent'],
    ['folder', 'agent'],
    ['missing', 'agent'],
    ['notes.v2', 'agent'],
    ['ns@pack', 'agent'],
    ['@pack/x', 'agent'],
  ])('%s is a %s', (word, kind) => {
    expect(targetKind(word, { cwd, builtInDir })).toBe(kind)
  })
})

describe('the files that finding an agent reads', () => {
  function noted(name: string, ...files: readonly string[]): readonly string[] {
    const { root, options } = world(...files)
    const log: string[] = []
    const note =
      (kind: string) =>
      (path: string, text?: string): void => {
        if (text === undefined) log.push(path.slice(root.length + 1))
        else log.push(`${kind} ${path.slice(root.length + 1)}`)
      }
    const reads = { file: note('file'), prompt: note('prompt'), list: () => {} }
    try {
      resolveAgent(name, { ...options, reads })
    } catch (error) {
      log.push(String(error).replace(/:.*/s, ''))
    }
    return log
  }

  it.each([
    ['a.aip', ['a.aip'], ['a.aip', 'file a.aip']],
    ['a.md', ['a.md'], ['a.md', 'prompt a.md']],
    ['a', ['a.lua'], ['a.aip', 'a.lua', 'file a.lua']],
    ['a', ['a/main.aip'], ['a.aip', 'a.lua', 'a/main.aip', 'file a/main.aip']],
    ['a', [], ['a.aip', 'a.lua', 'a/main.aip', 'a/main.lua', 'BatonError']],
    [
      'context-builder',
      [],
      ['context-builder.aip', 'context-builder.lua', 'context-builder/main.aip', 'context-builder/main.lua'],
    ],
    [
      'ns@p/x',
      ['packs/ns/p/x.lua'],
      ['packs/ns/p/x.aip', 'packs/ns/p/pack.toml', 'packs/ns/p/x.lua', 'file packs/ns/p/x.lua'],
    ],
    [
      'ns@p',
      [],
      [
        'packs/ns/p/main.aip',
        'packs/ns/p/main.lua',
        'ns@p.aip',
        'ns@p.lua',
        'ns@p/main.aip',
        'ns@p/main.lua',
        'BatonError',
      ],
    ],
  ])('are for %s among %j the file and those that would be preferred', (name, files, expected) => {
    expect(noted(name, ...files)).toEqual(expected)
  })
})
