import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSourceFile } from '../../src/base/files.ts'
import { sha256 } from '../../src/base/hash.ts'
import type { TranscriptBlock } from '../../src/prompt/transcript-text.ts'
import { rewriteTranscript } from '../../src/run/execute-prompt.ts'
import { withServices } from '../../src/event/context.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'
import { placeAt } from '../helpers/effects.ts'

function answer(text: string): TranscriptBlock {
  const usage = { input: 1, output: 2 }
  return { time: new Date(0), label: 'p', model: 'm', usage, costUsd: 0, runId: 'r', result: { kind: 'answer', text } }
}

/** Writes one answer into the file and returns the outcome. */
function rewrite(
  { workspace, file = 'p.md', text = 'Done.' }: { workspace: string; file?: string; text?: string },
  hide?: (text: string) => string,
) {
  const context = testContext({ workspace })
  const write = { file: join(workspace, file), blocks: [answer(text)], ...(hide && { hide }) }
  const result = rewriteTranscript(write, { context, at: placeAt('transcript') })
  return { result, sent: context.sent, records: context.records }
}

const prompt = 'Do it.\n\n====\n> old\n\nold answer\n'

describe('writing answers into the prompt file', () => {
  it('replaces the text below the line and leaves no other file', () => {
    const workspace = tempTree({ 'p.md': prompt })
    const { result, sent } = rewrite({ workspace })
    expect(result).toBe('written')
    expect(readFileSync(join(workspace, 'p.md'), 'utf8')).toMatch(/^Do it\.\n\n====\n> .* · r\n\nDone\.\n$/)
    expect(readdirSync(workspace)).toEqual(['p.md'])
    expect(sent).toMatchObject([{ type: 'file.changed', op: 'write', path: 'p.md' }])
  })

  it('keeps edits above the line during the run', () => {
    const workspace = tempTree({ 'p.md': prompt })
    rewrite({ workspace, text: 'first' })
    writeFileSync(
      join(workspace, 'p.md'),
      `\uFEFFDo more.\r\n${readFileSync(join(workspace, 'p.md'), 'utf8').slice(6)}`,
    )
    rewrite({ workspace, text: 'second' })
    expect(readFileSync(join(workspace, 'p.md'), 'utf8')).toMatch(/^\uFEFFDo more\.\r\n\n\n====\n> .* · r\n\nsecond\n$/)
  })

  it('is one file effect with the hashes before and after', () => {
    const workspace = tempTree({ 'p.md': prompt })
    const { records } = rewrite({ workspace })
    const after = sha256(readFileSync(join(workspace, 'p.md')))
    const request = { op: 'write', path: 'p.md', before: sha256(prompt), after }
    expect(records).toMatchObject([
      { k: 'started', p: 'transcript', kind: 'file', request },
      { k: 'ended', p: 'transcript', status: 'ok' },
    ])
  })

  it('keeps a link and the mode of its target', () => {
    const workspace = tempTree({ 'real/p.md': prompt })
    symlinkSync('real/p.md', join(workspace, 'link.md'))
    chmodSync(join(workspace, 'real/p.md'), 0o640)
    expect(rewrite({ workspace, file: 'link.md' }).result).toBe('written')
    expect(lstatSync(join(workspace, 'link.md')).isSymbolicLink()).toBe(true)
    expect(statSync(join(workspace, 'real/p.md')).mode & 0o777).toBe(0o640)
    expect(readFileSync(join(workspace, 'real/p.md'), 'utf8')).toContain('Done.')
    expect(readdirSync(join(workspace, 'real'))).toEqual(['p.md'])
  })

  it('hides secrets', () => {
    const workspace = tempTree({ 'p.md': prompt })
    rewrite({ workspace, text: 'the key is abc123' }, (text) => text.replaceAll('abc123', '«secret:KEY»'))
    expect(readFileSync(join(workspace, 'p.md'), 'utf8')).toMatch(/the key is «secret:KEY»\n$/)
  })

  it.each([
    ['the line is gone', 'its ==== line was removed', 'Do it.\n'],
    ['its front matter is open', 'the front matter starts with +++ but is not closed', '+++\n\n====\n'],
    [
      'it is not text',
      'contains a byte that is not UTF-8',
      Buffer.from([0x61, 0xff, 0x0a, 0x0a, 0x3d, 0x3d, 0x3d, 0x3d, 0x0a]),
    ],
  ])('writes nothing and warns when %s', (_, reason, content) => {
    const workspace = tempTree({ 'p.md': content })
    const { result, sent, records } = rewrite({ workspace })
    expect(result).toBe('gone')
    expect(sent).toMatchObject([
      { type: 'warning', message: expect.stringMatching(/^the answers were not written to p\.md: /) as string },
    ])
    expect(sent[0]).toMatchObject({ message: expect.stringContaining(reason) as string })
    expect(records.filter((record) => record.k !== 'obs')).toEqual([])
    expect(readFileSync(join(workspace, 'p.md'))).toEqual(Buffer.from(content))
  })

  it('writes nothing and warns when the file is gone or a folder', () => {
    const workspace = tempTree({ 'p.md': prompt })
    rmSync(join(workspace, 'p.md'))
    expect(rewrite({ workspace })).toMatchObject({ result: 'gone', sent: [{ type: 'warning' }] })
    expect(readdirSync(workspace)).toEqual([])
    mkdirSync(join(workspace, 'p.md'))
    expect(rewrite({ workspace })).toMatchObject({ result: 'gone', sent: [{ type: 'warning' }] })
  })

  it('writes only what can be read again', () => {
    const workspace = tempTree({ 'p.md': prompt })
    rewrite({ workspace, text: '' })
    const rest = 10 * 1024 * 1024 - statSync(join(workspace, 'p.md')).size - '\n\n'.length
    expect(rewrite({ workspace, text: 'é'.repeat(rest / 2 + 1) })).toMatchObject({ result: 'gone' })
    expect(statSync(join(workspace, 'p.md')).size).toBeLessThan(1000)
    expect(rewrite({ workspace, text: 'x'.repeat(rest) })).toMatchObject({ result: 'written' })
    expect(statSync(join(workspace, 'p.md')).size).toBe(10 * 1024 * 1024)
    expect(readSourceFile(join(workspace, 'p.md'))).toMatch(/x\n$/)
  })

  it('fails and keeps the file when it cannot be written', () => {
    const workspace = tempTree({ 'p.md': prompt })
    const context = testContext({ workspace })
    const { effects } = context.services
    const changeFile: typeof effects.changeFile = (at, asked, plan) =>
      effects.changeFile(at, asked, (allow) => {
        const planned = plan(allow)
        // no file can be created below a file
        return planned && { ...planned, act: () => planned.act((path) => join(path, 'x')) }
      })
    const failing = withServices(context, { effects: { ...effects, changeFile } })
    const write = { file: join(workspace, 'p.md'), blocks: [answer('new')] }
    expect(() => rewriteTranscript(write, { context: failing, at: placeAt('transcript') })).toThrow(
      /^the answers cannot be written to p\.md: .*p\.md is not a folder$/,
    )
    expect(readFileSync(join(workspace, 'p.md'), 'utf8')).toBe(prompt)
  })

  it('does not follow a link out of the workspace, and does not replace other names of the file', () => {
    const elsewhere = tempTree({ 'p.md': prompt, 'other.md': prompt })
    const workspace = tempTree({ 'own.md': prompt })
    symlinkSync(join(elsewhere, 'p.md'), join(workspace, 'p.md'))
    symlinkSync(join(workspace, 'own.md'), join(workspace, 'link.md'))
    linkSync(join(elsewhere, 'other.md'), join(workspace, 'other.md'))
    const refused = rewrite({ workspace })
    expect(refused.result).toBe('gone')
    expect(refused.sent).toMatchObject([
      { message: expect.stringContaining(`a link that leads out of the workspace, to ${elsewhere}/p.md`) },
    ])
    expect(rewrite({ workspace, file: 'link.md' }).result).toBe('written')
    expect(rewrite({ workspace, file: 'other.md' }).result).toBe('written')
    expect(readFileSync(join(workspace, 'own.md'), 'utf8')).toContain('Done.')
    for (const name of ['p.md', 'other.md']) expect(readFileSync(join(elsewhere, name), 'utf8')).toBe(prompt)
  })
})
