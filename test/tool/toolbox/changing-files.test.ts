import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../src/base/hash.ts'
import { withServices } from '../../../src/event/context.ts'
import { createOverlay } from '../../../src/tool/changes/change-space.ts'
import { decorate } from '../../../src/event/effects.ts'
import { testContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'

const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}\n`).join('')

function read(folder: string, path: string): string {
  return readFileSync(join(folder, path), 'utf8')
}

function shown(folder: string, ...paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(paths.map((path) => [join(folder, path), sha256(read(folder, path))]))
}

describe('write', () => {
  it('creates a file with its folders, and then knows it', async () => {
    const folder = tempTree({})
    const { call, box, context } = toolHost(folder)
    expect(await call('write', { path: 'a/b/c.txt', content: 'one\ntwo\n' })).toEqual({
      text: 'Created a/b/c.txt, 2 lines.',
    })
    expect(read(folder, 'a/b/c.txt')).toBe('one\ntwo\n')
    expect(await call('write', { path: join(folder, 'a/b/c.txt'), content: 'three' })).toEqual({
      text: 'Replaced a/b/c.txt, which now has 1 line.',
    })
    expect(read(folder, 'a/b/c.txt')).toBe('three')
    expect(box.work.changes()).toEqual([
      { file_path: 'a/b/c.txt', kind: 'New', success: true },
      { file_path: 'a/b/c.txt', kind: 'New', success: true, replaced: true },
    ])
    const sent = context.sent.filter(({ type }) => type === 'changes.applied' || type === 'file.changed')
    expect(sent.map(({ type }) => type)).toEqual(['file.changed', 'changes.applied', 'file.changed', 'changes.applied'])
    expect(() => context.services.sources.execute(join(folder, 'a/b/c.txt'))).toThrow(
      'changed by the answer of a model',
    )
  })

  it('does not replace a file that the model has not seen, or has seen differently', async () => {
    const folder = tempTree({ 'seen.txt': 'old\n', 'unseen.txt': 'keep\n', 'part.txt': 'a\nb\n', 'gone.txt': 'x\n' })
    const { call, box } = toolHost(folder, { shown: shown(folder, 'seen.txt', 'gone.txt') })
    box.seen.add({ path: join(folder, 'part.txt'), hash: sha256('a\nb\n'), part: { from: 1, to: 1, lines: 2 } })
    expect(await call('write', { path: 'unseen.txt', content: 'new\n' })).toEqual({
      isError: true,
      text: 'unseen.txt exists, and you have not seen it: nothing was written. Read it first, or change a part of it with edit.',
    })
    expect((await call('write', { path: 'part.txt', content: 'new\n' })).text).toContain('not seen all of it')
    writeFileSync(join(folder, 'seen.txt'), 'by a person\n')
    expect(await call('write', { path: 'seen.txt', content: 'new\n' })).toEqual({
      isError: true,
      text: 'seen.txt has changed since you saw it: nothing was written. Read it again, then decide what to write.',
    })
    rmSync(join(folder, 'gone.txt'))
    expect((await call('write', { path: 'gone.txt', content: 'new\n' })).text).toContain('was deleted since you saw it')
    expect((await call('write', { path: 'gone.txt', content: 'new\n' })).text).toBe('Created gone.txt, 1 line.')
    expect(['seen.txt', 'unseen.txt', 'part.txt'].map((path) => read(folder, path))).toEqual([
      'by a person\n',
      'keep\n',
      'a\nb\n',
    ])
  })

  it('reports that nothing changes if the file has this content already', async () => {
    const folder = tempTree({ 'a.txt': 'same\n' })
    const { call, box, context } = toolHost(folder)
    const same = { text: 'a.txt already has exactly this content: nothing was changed.' }
    expect(await call('write', { path: 'a.txt', content: 'same\n' })).toEqual(same)
    expect(box.work.changes()).toEqual([])
    expect(context.sent).toEqual([])
    // and now the model knows it
    expect((await call('write', { path: 'a.txt', content: 'new\n' })).text).toContain('Replaced')
  })

  it('keeps line breaks, a byte order mark and permissions', async () => {
    const folder = tempTree({ 'a.sh': '\uFEFFone\r\ntwo\r\n' })
    const { call } = toolHost(folder, { shown: shown(folder, 'a.sh') })
    await call('write', { path: 'a.sh', content: 'three\nfour\n' })
    expect(read(folder, 'a.sh')).toBe('\uFEFFthree\r\nfour\r\n')
    expect((await call('write', { path: 'a.sh', content: 'five\n' })).text).toContain('Replaced')
  })
})

describe('edit', () => {
  it('replaces a text, and shows the new lines', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const { call, context } = toolHost(folder, { shown: shown(folder, 'a.txt') })
    const result = await call('edit', { path: 'a.txt', old_text: 'line 5\nline 6', new_text: 'five\nsix' })
    expect(result).toEqual({
      text: 'Changed a.txt at lines 5-6.\n3→line 3\n4→line 4\n5→five\n6→six\n7→line 7\n8→line 8',
    })
    expect(read(folder, 'a.txt')).toBe(lines.replace('line 5\nline 6', 'five\nsix'))
    expect(context.sent.find(({ type }) => type === 'changes.applied')).toMatchObject({
      items: [{ file_path: 'a.txt', kind: 'Patch', success: true }],
    })
    // it still knows the whole file after its own change
    expect((await call('write', { path: 'a.txt', content: 'x\n' })).text).toContain('Replaced')
  })

  it('works the same way in a large file', async () => {
    const many = Array.from({ length: 60_000 }, (_, index) => `line ${index + 1} of a large file\r\n`).join('')
    const folder = tempTree({ 'a.txt': `\uFEFF${many}` })
    const { call } = toolHost(folder, { shown: shown(folder, 'a.txt') })
    const edited = await call('edit', { path: 'a.txt', old_text: 'line 30000 of', new_text: 'one\ntwo' })
    expect(edited.text).toBe(
      'Changed a.txt at lines 30000-30001.\n29998→line 29998 of a large file\n29999→line 29999 of a large file\n30000→one\n30001→two a large file\n30002→line 30001 of a large file\n30003→line 30002 of a large file',
    )
    expect(read(folder, 'a.txt')).toBe(`\uFEFF${many.replace('line 30000 of', 'one\r\ntwo')}`)
    const whole = many.replaceAll('\r\n', '\n').replace('line', 'first')
    expect((await call('write', { path: 'a.txt', content: whole })).text).toBe(
      'Replaced a.txt, which now has 60000 lines.',
    )
    expect(read(folder, 'a.txt')).toBe(`\uFEFF${many.replace('line', 'first')}`)
  })

  it.each([
    ['a tab', '5\tline 5\n6\tline 6', '5\tfive\n6\tsix'],
    ['an arrow', '5→line 5\n6→line 6', '5→five\n6→six'],
    ['spaces and a tab', '    5\tline 5\n    6\tline 6', 'five\nsix'],
  ])('understands lines that are quoted with their numbers, by %s', async (_, quoted, replacement) => {
    const folder = tempTree({ 'a.txt': lines })
    const scope = { at: [{ kind: 'turn', index: 0 }] } as const
    const { call } = toolHost(folder, { shown: shown(folder, 'a.txt'), scope })
    const edited = await call('edit', { path: 'a.txt', old_text: quoted, new_text: replacement })
    expect(edited.text).toContain('Changed a.txt at lines 5-6.\n3\tline 3\n4\tline 4\n5\tfive\n')
    expect(read(folder, 'a.txt')).toBe(lines.replace('line 5\nline 6', 'five\nsix'))
  })

  it('does not take numbers of the file for those of lines', async () => {
    const folder = tempTree({ 'a.tsv': '5\tfive\n6\tsix\n' })
    const { call } = toolHost(folder)
    await call('edit', { path: 'a.tsv', old_text: '5\tfive', new_text: '7\tseven' })
    expect(read(folder, 'a.tsv')).toBe('7\tseven\n6\tsix\n')
    // only some of the new lines have numbers, so it is not clear what is meant
    const mixed = await call('edit', { path: 'a.tsv', old_text: '1\t7\tseven', new_text: '1\tone\nnew' })
    expect(mixed.isError).toBe(true)
    expect(read(folder, 'a.tsv')).toBe('7\tseven\n6\tsix\n')
  })

  it('requires a text that occurs once, or replaces all', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const { call } = toolHost(folder)
    const several = await call('edit', { path: 'a.txt', old_text: 'line 1', new_text: 'x' })
    expect(several).toMatchObject({ isError: true })
    expect(several.text).toBe(
      'the text to replace occurs 4 times in a.txt, at lines 1, 10, 11, 12: include surrounding lines to make it unique, or set all. Nothing was changed.',
    )
    expect(await call('edit', { path: 'a.txt', old_text: 'line 1', new_text: 'x', all: true })).toEqual({
      text: 'Changed a.txt in 4 places, at lines 1, 10, 11, 12.',
    })
    expect(read(folder, 'a.txt')).toBe(lines.replaceAll('line 1', 'x'))
  })

  it('suggests the nearest place in a file that the model knows, and nothing of others', async () => {
    const folder = tempTree({ 'a.txt': lines, 'secret.txt': 'the key is 1234\n' })
    const { call } = toolHost(folder, { shown: shown(folder, 'a.txt') })
    const missing = await call('edit', { path: 'a.txt', old_text: 'Line  7', new_text: 'x' })
    expect(missing.isError).toBe(true)
    expect(missing.text).toContain('the text to replace is not in a.txt. The nearest place is:\n3→line 3\n')
    expect(missing.text).toContain('\n7→line 7\n')
    const hidden = await call('edit', { path: 'secret.txt', old_text: 'the key is 1', new_text: 'The key is 1' })
    expect(hidden.text).toBe('Changed secret.txt at line 1.')
    const unread = await call('edit', { path: 'secret.txt', old_text: 'the key is', new_text: 'x' })
    expect(unread.text).toBe('the text to replace is not in secret.txt. You have not read this file: read it first.')
  })

  it('applies to the current content of the file', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const { call } = toolHost(folder, { shown: shown(folder, 'a.txt') })
    writeFileSync(join(folder, 'a.txt'), `by a person\n${lines}`)
    expect((await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'seven' })).text).toContain('at line 8.')
    expect(read(folder, 'a.txt')).toBe(`by a person\n${lines.replace('line 7', 'seven')}`)
    const gone = await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'x' })
    expect(gone.text).toContain('is not in a.txt, which has changed since you saw it. The nearest place')
    // it has seen part of the current content
    expect((await call('write', { path: 'a.txt', content: 'x\n' })).text).toContain('has changed since you saw it')
  })

  it('creates a file with an empty old_text, and only then', async () => {
    const folder = tempTree({ 'full.txt': 'x\n', 'empty.txt': '' })
    const { call } = toolHost(folder)
    expect((await call('edit', { path: 'new.txt', old_text: '', new_text: 'a\n' })).text).toBe(
      'Created new.txt, 1 line.',
    )
    expect((await call('edit', { path: 'empty.txt', old_text: '', new_text: 'a\n' })).text).toContain('empty.txt')
    expect(read(folder, 'empty.txt')).toBe('a\n')
    expect((await call('edit', { path: 'full.txt', old_text: '', new_text: 'a' })).text).toContain('is not empty')
    expect((await call('edit', { path: 'none.txt', old_text: 'a', new_text: 'b' })).text).toContain('there is no file')
    expect((await call('edit', { path: 'full.txt', old_text: 'x', new_text: 'x' })).text).toContain('nothing to change')
  })

  it('follows a link that stays in the workspace', async () => {
    const folder = tempTree({ 'a.txt': 'one\n' })
    symlinkSync('a.txt', join(folder, 'link.txt'))
    const { call } = toolHost(folder, { shown: shown(folder, 'a.txt') })
    expect((await call('edit', { path: 'link.txt', old_text: 'one', new_text: 'two' })).isError).toBeUndefined()
    expect(read(folder, 'a.txt')).toBe('two\n')
    expect((await call('write', { path: 'link.txt', content: 'three\n' })).text).toContain('Replaced')
    expect(read(folder, 'a.txt')).toBe('three\n')
  })
})

/** Something that happens between planning and writing. */
function meddledContext(folder: string, meddle: (count: number) => void) {
  const context = testContext({ workspace: folder })
  let count = 0
  const effects = decorate(context.services.effects, (inner) => ({
    changeFile(at, asked, plan, permit) {
      count += 1
      meddle(count)
      return inner.changeFile(at, asked, plan, permit)
    },
  }))
  return withServices(context, { effects })
}

describe('a concurrent change by somebody else', () => {
  it('is not lost: an edit is applied to it', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const context = meddledContext(folder, (count) => {
      if (count < 3) writeFileSync(join(folder, 'a.txt'), `by a person ${count}\n${read(folder, 'a.txt')}`)
    })
    const { call } = toolHost(folder, { process: context })
    expect((await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'seven' })).text).toContain('at line 9.')
    expect(read(folder, 'a.txt')).toBe(`by a person 2\nby a person 1\n${lines.replace('line 7', 'seven')}`)
  })

  it('is not lost: it is not replaced', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const context = meddledContext(folder, (count) => {
      if (count === 1) writeFileSync(join(folder, 'a.txt'), 'by a person\n')
    })
    const { call } = toolHost(folder, { process: context, shown: shown(folder, 'a.txt') })
    expect((await call('write', { path: 'a.txt', content: 'x\n' })).text).toContain('has changed since you saw it')
    expect(read(folder, 'a.txt')).toBe('by a person\n')
    const made = meddledContext(folder, () => writeFileSync(join(folder, 'new.txt'), 'by a person\n'))
    const other = toolHost(folder, { process: made })
    expect((await other.call('write', { path: 'new.txt', content: 'x\n' })).text).toContain('you have not seen it')
    expect(read(folder, 'new.txt')).toBe('by a person\n')
  })

  it('does not keep a call busy forever', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const context = meddledContext(folder, (count) => writeFileSync(join(folder, 'a.txt'), `${count}\n${lines}`))
    const { call } = toolHost(folder, { process: context })
    expect((await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'x' })).text).toContain(
      'changed constantly',
    )
  })
})

it('edits of one file that are requested at once are applied one after the other', async () => {
  const folder = tempTree({ 'a.txt': lines })
  const { call } = toolHost(folder, { shown: shown(folder, 'a.txt') })
  const numbers = Array.from({ length: 9 }, (_, index) => index + 1)
  const results = await Promise.all(
    numbers.map((number) => call('edit', { path: 'a.txt', old_text: `line ${number}\n`, new_text: `${number}!\n` })),
  )
  expect(results.filter(({ isError }) => isError === true)).toEqual([])
  expect(read(folder, 'a.txt')).toBe(`1!\n2!\n3!\n4!\n5!\n6!\n7!\n8!\n9!\nline 10\nline 11\nline 12\n`)
})

describe('a dry run', () => {
  const dryHost = (folder: string, planned = createOverlay()) =>
    toolHost(folder, { scope: { dry: 'changes' }, services: { planned } })
  const dryText = (path: string) =>
    `This is a dry run: ${path} is unchanged on disk, but read, edit and write see this change.`

  it('changes nothing, and later calls see the simulated changes', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const { call, box, context } = dryHost(folder)
    const result = await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'seven' })
    expect(result.text).toBe(`Changed a.txt at line 7.\n${dryText('a.txt')}`)
    expect((await call('edit', { path: 'a.txt', old_text: 'line 7', new_text: 'x' })).isError).toBe(true)
    await call('edit', { path: 'a.txt', old_text: 'seven', new_text: 'sieben' })
    expect((await call('read', { path: 'a.txt', offset: 7, limit: 1 })).text).toContain('7→sieben\n')
    expect((await call('write', { path: 'new/b.txt', content: 'one\n' })).isError).toBeUndefined()
    expect((await call('read', { path: 'new/b.txt' })).text).toBe('1→one')
    await call('edit', { path: 'new/b.txt', old_text: 'one', new_text: 'two' })
    expect((await call('write', { path: 'new/b.txt', content: 'three\n' })).text).toContain('Replaced new/b.txt')
    expect(read(folder, 'a.txt')).toBe(lines)
    expect(existsSync(join(folder, 'new'))).toBe(false)
    // one diff for each file, with all its changes
    expect(box.work.diff().match(/^[-+].*/gm)).toEqual([
      '--- a/a.txt',
      '+++ b/a.txt',
      '-line 7',
      '+sieben',
      '--- /dev/null',
      '+++ b/new/b.txt',
      '+three',
    ])
    expect(context.sent.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => 'changes.planned'))
  })

  it('shows another conversation the changes of the first, but not as its own', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const planned = createOverlay()
    await dryHost(folder, planned).call('edit', { path: 'a.txt', old_text: 'line 3', new_text: 'three' })
    const second = dryHost(folder, planned)
    await second.call('edit', { path: 'a.txt', old_text: 'three\n', new_text: 'three\nmore\n' })
    expect(second.box.work.diff().match(/^[-+].*/gm)).toEqual(['--- a/a.txt', '+++ b/a.txt', '+more'])
  })

  it('reports what the conversation would change, but not what was only shown before', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const asked = { rules: [{ tool: 'edit', effect: 'ask', origin: 'a test' }] as const }
    const { call, box } = toolHost(folder, {
      scope: { dry: 'changes' },
      services: { planned: createOverlay() },
      ...asked,
    })
    expect(await call('edit', { path: 'a.txt', old_text: 'line 3', new_text: 'three' })).toMatchObject({
      isDenied: true,
    })
    writeFileSync(join(folder, 'a.txt'), `by a person\n${lines}`)
    await call('read', { path: 'a.txt' })
    await call('write', { path: 'a.txt', content: `by a person\n${lines}more\n` })
    expect(box.work.diff().match(/^[-+].*/gm)).toEqual(['--- a/a.txt', '+++ b/a.txt', '+more'])
  })

  it('has a size limit', async () => {
    const folder = tempTree({ 'a.txt': lines })
    const { call } = dryHost(folder, createOverlay(lines.length + 10))
    expect((await call('write', { path: 'b.txt', content: 'x'.repeat(lines.length + 11) })).text).toContain(
      'a dry run keeps at most',
    )
    expect((await call('edit', { path: 'a.txt', old_text: 'line 3', new_text: 'three' })).isError).toBeUndefined()
    expect((await call('write', { path: 'b.txt', content: 'x'.repeat(20) })).isError).toBe(true)
  })
})

it('a call may write only where its rights allow', async () => {
  const folder = tempTree({ 'a.txt': 'ab'.repeat(100) })
  const { call } = toolHost(folder, { limits: { maxBytes: 1000 } })
  const large = await call('write', { path: 'b.txt', content: 'x'.repeat(1001) })
  expect(large).toMatchObject({ isError: true, text: expect.stringContaining('[changes] max_size') })
  const grown = await call('edit', { path: 'a.txt', old_text: 'a', new_text: 'x'.repeat(100), all: true })
  expect(grown.text).toContain('[changes] max_size')
  const whole = await call('write', { path: 'b.txt', content: 'x'.repeat(11 * 1024 * 1024) })
  expect(whole.text).toContain('a call writes at most 10mb')
  mkdirSync(join(folder, 'folder'))
  expect((await call('write', { path: 'folder', content: '' })).text).toContain('is a folder')
  expect(statSync(join(folder, 'a.txt')).size).toBe(200)
})
