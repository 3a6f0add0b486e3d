import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  agentStarter,
  configText,
  createFiles,
  packStarter,
  promptStarter,
  readPackName,
  readPipeline,
} from '../../src/authoring/starters.ts'
import { readConfigFiles } from '../../src/config/config-files.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const starters = join(root, 'starters')

describe('starter files', () => {
  it('are created with the folders they need', () => {
    const folder = tempTree()
    createFiles([{ path: join(folder, 'a/b/c.md'), text: 'x' }], { within: folder })
    expect(readFileSync(join(folder, 'a/b/c.md'), 'utf8')).toBe('x')
  })

  it('are not created at all if one of them exists', () => {
    const folder = tempTree({ 'b.md': 'mine' })
    const files = ['a.md', 'b.md'].map((name) => ({ path: join(folder, name), text: 'new' }))
    expect(() => createFiles(files, { within: folder })).toThrow(`${join(folder, 'b.md')} already exists`)
    expect(readdirSync(folder)).toEqual(['b.md'])
    expect(readFileSync(join(folder, 'b.md'), 'utf8')).toBe('mine')
  })

  it('are not written through a dangling link', () => {
    const folder = tempTree()
    symlinkSync(join(folder, 'elsewhere.md'), join(folder, 'a.md'))
    expect(() => createFiles([{ path: join(folder, 'a.md'), text: 'x' }], { within: folder })).toThrow('already exists')
    expect(existsSync(join(folder, 'elsewhere.md'))).toBe(false)
  })

  it('are removed again if a later one cannot be written', () => {
    const folder = tempTree({ file: '' })
    const files = ['a.md', 'file/b.md'].map((name) => ({ path: join(folder, name), text: 'x' }))
    expect(() => createFiles(files, { within: folder })).toThrow(expect.objectContaining({ code: 'FILE_FAILED' }))
    expect(readdirSync(folder)).toEqual(['file'])
  })
})

describe('names', () => {
  const places = { cwd: '/project/sub', workspace: '/project', starters }
  const pathOf = (name: string): string | undefined => agentStarter(name, places).files[0]?.path

  it('without a folder place an agent in agents/ of the workspace, others in the given folder', () => {
    expect(['lint', 'lint.lua', './lint', 'deep/lint.aip', '/abs/lint'].map(pathOf)).toEqual([
      '/project/agents/lint.aip',
      '/project/agents/lint.lua',
      '/project/sub/lint.aip',
      '/project/sub/deep/lint.aip',
      '/abs/lint.aip',
    ])
  })

  it('of prompt files are relative to the current folder', () => {
    const made = promptStarter('a/ask', 'text', places)
    expect(made.files).toEqual([{ path: '/project/sub/a/ask.md', text: 'text' }])
    expect(made.next[0]).toEqual({ kind: 'command', command: 'baton check a/ask.md' })
    expect(promptStarter('it is.md', 'x', places).next[0]).toMatchObject({
      command: "baton check 'it is.md'",
    })
  })

  it.each(['', ' ', 'folder/', '.', '..', 'a/..', 'a\nb', 'a\u001Bb'])(
    'that are invalid as file names are refused: %j',
    (name) => {
      const usage = expect.objectContaining({ code: 'USAGE' })
      expect(() => agentStarter(name, places)).toThrow(usage)
      expect(() => promptStarter(name, undefined, places)).toThrow(usage)
    },
  )

  it('of packs have two parts', () => {
    expect(readPackName('demo@notes')).toEqual({ namespace: 'demo', name: 'notes' })
    for (const name of ['notes', '@notes', 'demo@', 'demo@notes/sub', 'demo@notes$base', 'de mo@x', '1a@x', '']) {
      expect(() => readPackName(name), name).toThrow(expect.objectContaining({ code: 'USAGE' }))
    }
    expect(() => readPackName('demo/notes')).toThrow(expect.objectContaining({ hint: 'Did you mean demo@notes?' }))
    for (const name of ['baton@core', 'Baton@new']) expect(() => readPackName(name)).toThrow('ship with Baton')
    expect(() => readPackName('con@notes')).toThrow('it has the name of a device (con)')
  })

  it('of pipelines are suggested', () => {
    const folder = tempTree({ 'coder.md': 'Code.', 'quickstart.md': 'Start.', 'notes.txt': '' })
    expect(readPipeline('coder', folder)).toBe('Code.')
    expect(() => readPipeline('codr', folder)).toThrow(
      expect.objectContaining({ hint: 'Did you mean coder? Pipelines: coder, quickstart.' }),
    )
    expect(() => readPipeline('../secret', folder)).toThrow('unknown pipeline "../secret"')
  })

  it('of a pipeline stand for its text without its tests', () => {
    const tests = '\n\n[[test]]\nname = "x"\n\n[[test]]\nname = "y"'
    const folder = tempTree({ 'coder.md': `+++\na = 1${tests}\n+++\nCode.\n+++\n` })
    expect(readPipeline('coder', folder)).toBe('+++\na = 1\n+++\nCode.\n+++\n')
  })
})

it('a new pack is one folder in .baton/packs of the workspace', () => {
  const { folder, files } = packStarter('demo@short', { cwd: '/project/sub', workspace: '/project', starters })
  expect(folder).toBe('/project/.baton/packs/demo/short')
  expect(files.map(({ path }) => path.slice(folder.length + 1))).toEqual([
    'pack.toml',
    'main.aip',
    'check.aip',
    'lua/words.lua',
    'example.md',
    'README.md',
  ])
  expect(files.filter(({ text }) => text.includes('{{'))).toEqual([])
})

describe('a new baton.toml', () => {
  async function read(text: string): Promise<Awaited<ReturnType<typeof readConfigFiles>>> {
    const folder = tempTree({ 'project/baton.toml': text })
    mkdirSync(join(folder, 'home'))
    return readConfigFiles({ cwd: join(folder, 'project'), env: {}, home: join(folder, 'home') })
  }

  it('sets nothing', async () => {
    const { layers, issues } = await read(configText({ starters }))
    expect(issues).toEqual([])
    expect(layers.map(({ values }) => values)).toEqual([{}])
  })

  it('is valid with every commented line enabled', async () => {
    const { layers, issues } = await read(configText({ starters }).replaceAll(/^# (?=\w+ = |\[)/gm, ''))
    expect(issues).toEqual([])
    expect(Object.keys(layers[0]?.values ?? {})).toEqual([
      'model',
      'fallback_models',
      'input_concurrency',
      'max_files_size_kb',
      'secrets',
      'budget',
      'model_aliases',
      'timeouts',
      'lua',
    ])
  })

  it('shows the actual defaults', async () => {
    const { defaultLayer } = await import('../../src/config/settings.ts')
    const { layers } = await read(configText({ starters }).replaceAll(/^# (?=\w+ = |\[)/gm, ''))
    for (const key of ['input_concurrency', 'max_files_size_kb', 'timeouts']) {
      expect(layers[0]?.values[key], key).toEqual(defaultLayer.values[key])
    }
    const { lua } = layers[0]?.values ?? {}
    expect({ lua: defaultLayer.values['lua'] }).toMatchObject({ lua })
  })
})

it('existing files in a folder are named', () => {
  const folder = tempTree()
  writeFileSync(join(folder, 'agents'), '')
  expect(() => createFiles([{ path: join(folder, 'agents/a.aip'), text: '' }], { within: folder })).toThrow(
    join(folder, 'agents/a.aip'),
  )
})
