import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkCassettePlace, writeCassetteFile } from '../../src/cli/cassette-file.ts'
import { openRun } from '../../src/journal/store.ts'
import { tempTree } from '../helpers/temp.ts'

async function recordedRun(): Promise<string> {
  const folder = join(tempTree(), 'run')
  const journal = await openRun({ folder, now: () => new Date(0) })
  journal.note({ k: 'run.end', exit: 0, stop: 'done' })
  await journal.close()
  return folder
}

describe('--record', () => {
  it('accepts a path without a file, an empty file, and a cassette, also a damaged one', async () => {
    const root = tempTree({ 'empty.cassette': '' })
    const file = join(root, 'run.cassette')
    const folder = await recordedRun()
    for (const one of [file, join(root, 'empty.cassette'), file]) {
      expect(() => checkCassettePlace(one, { cwd: root, env: {}, home: root })).not.toThrow()
      await writeCassetteFile(one, folder)
    }
    const text = readFileSync(file, 'utf8')
    const damaged = tempTree({ 'run.cassette': text.slice(0, -20), 'first.cassette': `00000000${text.slice(8)}` })
    for (const name of readdirSync(damaged))
      expect(() => checkCassettePlace(join(damaged, name), { cwd: root, env: {}, home: root })).not.toThrow()
  })

  it.each([
    ['a prompt file', 'ask.md', 'exists and is not a cassette: it is not overwritten'],
    ['a text about cassettes', 'notes.md', 'exists and is not a cassette'],
    ['a link to a file', 'link.md', 'exists and is not a cassette'],
    ['a folder', 'folder', 'is a folder'],
    ['a device', '/dev/null', 'is a device and not a regular file'],
    ['a file in a folder that is missing', 'none/run.cassette', 'there is no folder'],
  ])('refuses %s', (_, name, message) => {
    const root = tempTree({ 'ask.md': 'Say hi.\n', 'notes.md': 'A cassette begins with {"e":0,"k":"cassette"}.\n' })
    mkdirSync(join(root, 'folder'))
    symlinkSync('ask.md', join(root, 'link.md'))
    const file = name.startsWith('/') ? name : join(root, name)
    expect(() => checkCassettePlace(file, { cwd: root, env: {}, home: root })).toThrow(
      expect.objectContaining({ code: 'USAGE' }),
    )
    expect(() => checkCassettePlace(file, { cwd: root, env: {}, home: root })).toThrow(message)
  })

  it('does not overwrite a file that was created during the run', async () => {
    const root = tempTree({ 'made.txt': 'by an agent\n' })
    await expect(writeCassetteFile(join(root, 'made.txt'), await recordedRun())).rejects.toMatchObject({
      code: 'FILE_FAILED',
      message: expect.stringContaining('made.txt exists and is not a cassette'),
    })
    expect([readdirSync(root), readFileSync(join(root, 'made.txt'), 'utf8')]).toEqual([['made.txt'], 'by an agent\n'])
  })
})
