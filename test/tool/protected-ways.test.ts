import type { FileCall } from '../../src/tool/workspace-files.ts'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { narrow, type RunContext } from '../../src/event/context.ts'
import type { Directive } from '../../src/tool/changes/directive.ts'
import { applyTransaction } from '../../src/tool/changes/transaction.ts'
import {
  appendToFile,
  copyFile,
  moveEntry,
  restoreFile,
  saveFile,
  saveMadeFile,
} from '../../src/tool/workspace-files.ts'
import { testContext } from '../helpers/context.ts'
import { placeAt } from '../helpers/effects.ts'
import { tempTree } from '../helpers/temp.ts'
import { toolHost } from '../helpers/tool-call.ts'

const prompt = '+++\nmodel = "x"\n+++\nGo.\n'
const agent = '---\nname: x\ndescription: d\n---\nGo.\n'

/** What decides what runs: where it is, and the text that makes it so. */
const places: Readonly<Record<string, string>> = {
  'ask.md': prompt,
  'docs/ask.txt': '```toml\n#!meta\nmodel = "x"\n```\nGo.\n',
  'agents/x.md': agent,
  'agents/team/x.md': agent,
  'x.aip': '# Output\n',
  'lua/x.lua': 'return 1\n',
  'baton.toml': 'model = "x"\n',
  'sub/baton.toml': 'model = "x"\n',
  '.mcp.json': '{}\n',
  '.baton/agents/x.md': 'Go.\n',
  '.baton/packs/a/b/pack.toml': '[pack]\n',
  '.git/config': '[core]\n',
}

type Ways = Readonly<Record<string, (path: string, text: string) => readonly Directive[]>>

/** The first half is no front matter by itself. */
const halves = (text: string): readonly [string, string] => [text.slice(0, 2), text.slice(2)]
const write = (filePath: string, content: string): Directive => ({ kind: 'New', filePath, content })
const patch = (lines: string): string =>
  `@@\n${lines
    .trimEnd()
    .split('\n')
    .map((line) => `+${line}\n`)
    .join('')}`

const answers: Ways = {
  'a new file': (path, text) => [write(path, text)],
  'a new file by a patch': (filePath, text) => [{ kind: 'Patch', filePath, content: patch(text) }],
  'an append to its first half': (filePath, text) => {
    const [first, content] = halves(text)
    return [write(filePath, first), { kind: 'Append', filePath, content }]
  },
  'a replacement of other text': (filePath, text) => [
    write(filePath, 'other\n'),
    { kind: 'SearchReplace', filePath, content: `<<<<<<< SEARCH\nother\n=======\n${text}>>>>>>> REPLACE\n` },
  ],
  'a renamed file': (filePath, text) => [write('x.bin', text), { kind: 'Rename', filePath, fromPath: 'x.bin' }],
  'a copied file': (filePath, text) => [write('x.bin', text), { kind: 'Copy', filePath, fromPath: 'x.bin' }],
}

describe('no answer can create what is executed, at once or in pieces', () => {
  const cases = Object.entries(answers).flatMap(([way, make]) =>
    Object.entries(places).map(([path, text]) => [way, path, make(path, text)] as const),
  )

  it.each(cases)('%s: %s', async (_, path, directives) => {
    const root = tempTree({ 'a.txt': '' })
    const context = held(testContext({ workspace: root }), 'answer')
    // one after another, as in several turns
    for (const [index, directive] of directives.entries()) {
      const options = { baseDir: root, partial: false, shown: undefined, isMade: () => true }
      await applyTransaction([directive], options, { context, at: placeAt(`apply#${index}`) })
    }
    expect(isMade(root, path)).toBe(false)
    const whole = tempTree({ 'a.txt': '' })
    const other = held(testContext({ workspace: whole }), 'answer')
    const options = { baseDir: whole, partial: true, shown: undefined, isMade: () => true }
    await applyTransaction(directives, options, { context: other, at: placeAt('apply') })
    expect(isMade(whole, path)).toBe(false)
  })
})

describe('no tool can create what is executed, at once or in pieces', () => {
  it.each(Object.entries(places))('%s', async (path, text) => {
    const root = tempTree({ 'a.txt': '' })
    const { call } = toolHost(root)
    await call('write', { path, content: text })
    expect(isMade(root, path)).toBe(false)
    await call('write', { path, content: 'other\n' })
    await call('edit', { path, old_text: 'other\n', new_text: text })
    expect(isMade(root, path)).toBe(false)
    await call('edit', { path, old_text: '', new_text: text })
    expect(isMade(root, path)).toBe(false)
  })
})

/** Functions that scripts have, each below a place of its own. */
const functions: Readonly<Record<string, readonly ((path: string, text: string, call: FileCall) => void)[]>> = {
  save: [(path, text, call) => saveFile(path, text, call)],
  append: [
    (path, text, call) => appendToFile(path, halves(text)[0], call),
    (path, text, call) => appendToFile(path, halves(text)[1], call),
  ],
  'save over': [(path, _, call) => saveFile(path, 'other\n', call), (path, text, call) => saveFile(path, text, call)],
  move: [
    (path, text, call) => saveFile(beside(path), text, call),
    (path, _, call) => moveEntry({ source: beside(path), destination: path, overwrite: true }, call),
  ],
  copy: [
    (path, text, call) => saveFile(beside(path), text, call),
    (path, _, call) => copyFile({ source: beside(path), destination: path, overwrite: true }, call),
  ],
  unpack: [
    (path, text, call) => {
      const made = { op: 'unpack', source: beside(path), make: () => Buffer.from(text) } as const
      saveMadeFile(path, made, call)
    },
  ],
  restore: [(path, text, call) => restoreFile(path, { bytes: Buffer.from(text) }, call)],
}

describe.each(['answer', 'pack'] as const)('no function can create what is executed, under the rules of %s', (by) => {
  const cases = Object.entries(functions).flatMap(([way, steps]) =>
    Object.entries(places).map(([path, text]) => [way, path, text, steps] as const),
  )

  it.each(cases)('%s: %s', (_, path, text, steps) => {
    const root = tempTree({ 'a.txt': '' })
    const context = held(testContext({ workspace: root }), by)
    expect(() => {
      for (const [index, step] of steps.entries())
        step(join(root, path), text, { context, at: placeAt(`run/call#${index}`) })
    }).toThrow(/is protected|decides what|never change/)
    expect(isMade(root, path)).toBe(false)
  })

  it.each(['agents/x.md', 'agents/team/x.md', '.baton/agents/x.md', 'lua/x.lua'])('a moved folder: %s', (path) => {
    const [folder = '', ...below] = path.split('/')
    const root = tempTree({ [join('draft', ...below)]: places[path] ?? '' })
    const context = held(testContext({ workspace: root }), by)
    const moved = { source: join(root, 'draft'), destination: join(root, folder), overwrite: false }
    expect(() => moveEntry(moved, { context, at: placeAt('run/call#0') })).toThrow('is protected')
    expect(isMade(root, path)).toBe(false)
  })
})

function beside(path: string): string {
  return `${path.replace(/\/(?:\.baton|\.git|agents|lua|docs|sub)\/.*/, '/x')}.bin`
}

function isMade(root: string, path: string): boolean {
  const file = join(root, path)
  return existsSync(file) && readFileSync(file, 'utf8') === places[path]
}

/** As answers and tools are held, or as an installed pack that may write everywhere. */
function held(context: RunContext, by: 'answer' | 'pack'): RunContext {
  if (by === 'answer') return narrow(context, { protect: { paths: [], kind: 'answer', allow: [], whom: 'a model' } })
  const granted = { read: ['**'], write: ['**'], hosts: [], commands: [], env: [], models: [], mcp: [] }
  return narrow(context, {
    pack: { identity: 'a@b', granted, ownFolders: [], keptFolders: [], executed: [], allow: [] },
  })
}
