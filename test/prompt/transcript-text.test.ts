import { describe, expect, it } from 'vitest'
import { parsePrompt } from '../../src/prompt/document.ts'
import { replaceTranscript, type TranscriptBlock, transcriptText } from '../../src/prompt/transcript-text.ts'

const time = new Date('2026-03-01T08:30:15.900Z')

function block(change: Partial<TranscriptBlock> = {}): TranscriptBlock {
  return {
    time,
    label: 'src/a.ts',
    model: 'openai::gpt-5-mini',
    usage: { input: 1234, output: 567 },
    costUsd: 0.01234,
    runId: 'run-1',
    result: { kind: 'answer', text: 'Done.' },
    ...change,
  }
}

/** The fields after the time. */
function facts(change: Partial<TranscriptBlock>): string {
  const line = transcriptText([block(change)]).split('\n')[1] ?? ''
  return line.slice(line.indexOf(' · ') + 3)
}

function replaced(text: string, transcript = '====\n> new\n\none\ntwo\n'): string | undefined {
  return replaceTranscript({ file: 'p.md', text }, transcript)
}

describe('the text of a transcript', () => {
  it('has one block for each task, in the given order, separated by empty lines', () => {
    const text = transcriptText([block(), block({ label: 'b', result: { kind: 'answer', text: 'One.\n\nTwo.\n\n' } })])
    const [, first = '', , , , , second = ''] = text.split('\n')
    expect(first).toMatch(/^> \S+ · src\/a\.ts · openai::gpt-5-mini · 1,234 in, 567 out · \$0\.0123 · run-1$/)
    expect(text).toBe(`====\n${first}\n\nDone.\n\n====\n${second}\n\nOne.\n\nTwo.\n`)
  })

  it('contains the local time in seconds with its offset', () => {
    const written = transcriptText([block()]).split(' ')[1] ?? ''
    expect(written).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
    expect(new Date(written).getTime()).toBe(Math.floor(time.getTime() / 1000) * 1000)
    expect(written.slice(8, 10)).toBe(String(time.getDate()).padStart(2, '0'))
    expect(written.slice(11, 13)).toBe(String(time.getHours()).padStart(2, '0'))
  })

  it.each([
    [null, 'unpriced'],
    [0, '$0.0000'],
    [0.00001, '<$0.0001'],
    [12.5, '$12.5000'],
  ])('shows a cost of %s as %s', (costUsd, shown) => {
    expect(facts({ costUsd })).toBe(`src/a.ts · openai::gpt-5-mini · 1,234 in, 567 out · ${shown} · run-1`)
  })

  it('contains the reason why a task has no answer, on one line', () => {
    expect(transcriptText([block({ result: { kind: 'failed', message: 'refused\nby\tthe host' } })])).toMatch(
      /\n\nerror: refused by the host\n$/,
    )
    const reason = 'the instruction\nis empty'
    const unasked = { model: '', usage: { input: 0, output: 0 }, costUsd: 0 }
    const text = transcriptText([block({ ...unasked, result: { kind: 'skipped', reason } })])
    expect(text).toMatch(
      / · src\/a\.ts · no model · 0 in, 0 out · \$0\.0000 · run-1\n\nskipped: the instruction is empty\n$/,
    )
  })

  it('keeps its metadata on one line, whatever a label contains', () => {
    expect(facts({ label: ' a\r\n====\u2028b\u0007\n' })).toMatch(/^a ==== b · openai/)
  })

  it('ends an empty answer with its metadata', () => {
    expect(transcriptText([block({ result: { kind: 'answer', text: '\n' } })])).toMatch(/^====\n> .* · run-1\n$/)
  })

  it('is only the ==== line without blocks', () => {
    expect(transcriptText([])).toBe('====\n')
  })
})

describe('replacing a transcript', () => {
  it('changes nothing above the line', () => {
    const above = '\uFEFF+++\nmodel = "m"\n+++\n\tDo it. \r\n\n'
    expect(replaced(`${above}====\n> old\n\n====\n\nmore`)).toBe(`${above}====\n> new\n\none\ntwo\n`)
  })

  it.each([
    ['the end of the file right after it', 'Do it.\n\n====', 'Do it.\n\n====\n> new\n\none\ntwo\n'],
    ['nothing above it', '====\r\nold', '====\r\n> new\r\n\r\none\r\ntwo\r\n'],
    ['CRLF', 'a\r\nb\n\r\n====\nold\n', 'a\r\nb\n\r\n====\n> new\n\none\ntwo\n'],
    ['mostly CRLF', 'a\r\nb\r\n\r\n====\nold\n', 'a\r\nb\r\n\r\n====\r\n> new\r\n\r\none\r\ntwo\r\n'],
  ])('uses the line endings of the file: %s', (_, text, expected) => {
    expect(replaced(text)).toBe(expected)
  })

  it('returns nothing if there is no such line', () => {
    expect(replaced('Do it.\n\n===\n')).toBeUndefined()
    expect(replaced('Title\n====\n')).toBeUndefined()
  })

  it('refuses front matter that is not closed', () => {
    expect(() => replaced('+++\nmodel = "m"\n\n====\n')).toThrow('the front matter starts with +++ but is not closed')
  })

  it('is possible again after an answer with ==== lines, fences and front matter', async () => {
    const text = 'Do it.\r\n\r\n====\r\nold\r\n'
    const answer = 'Head\n\n====\n\n```toml\n#!meta\nmodel = "x"\n\n+++\n\0'
    const hostile = [block({ result: { kind: 'answer', text: answer } }), block()]
    const written = replaced(text, transcriptText(hostile)) ?? ''
    const document = await parsePrompt('p.md', written)
    expect(document).toMatchObject({ instruction: 'Do it.', transcriptLine: 3, meta: { language: 'none' } })
    expect(document.hash).toBe((await parsePrompt('p.md', text)).hash)
    expect(written).not.toContain('\0')
    expect(replaced(written)).toBe('Do it.\r\n\r\n====\r\n> new\r\n\r\none\r\ntwo\r\n')
  })
})
