import { describe, expect, it } from 'vitest'
import { bestMessage, commitMessage, isOwnCommit, subjectOf } from '../../../src/strategies/iterate/repository.ts'
import { filesSummary, summaryQuestion, usableSummary } from '../../../src/strategies/iterate/summarize.ts'

describe('the message of a commit', () => {
  const facts = { run: '20260101-000000-abc', key: '0', iteration: 0, files: ['a.rs', 'b.rs'], subject: undefined }

  it('contains the changed files, and trailers', () => {
    expect(commitMessage(facts)).toBe(`[iter-0] Iteration 0 changes

Modified files: a.rs, b.rs

Baton-Run: 20260101-000000-abc
Baton-Iteration: 0
`)
    const files = Array.from({ length: 10 }, (_, index) => `file${index}`)
    expect(commitMessage({ ...facts, key: '3', iteration: 3, files })).toContain(
      '[iter-3] Iteration 3 changes\n\nModified files: file0, file1, file2, file3, file4, ... (5 more)\n\n',
    )
  })

  it.each([
    [0, 'Add JWT auth', '[iter-0] Add JWT auth'],
    [1, '[iter-7] X', '[iter-1] X'],
    [1, '  [iter-N]   X  ', '[iter-1] X'],
    [2, '', '[iter-2] Iteration 2 changes'],
    [2, '[iter-2]', '[iter-2] Iteration 2 changes'],
    [3, 'one\n\nBaton-Run: other', '[iter-3] one Baton-Run: other'],
    [4, 'a\u2028b\u0085c\0d', '[iter-4] a b c d'],
  ])('begins with the number of its own iteration: %i, %j', (iteration, summary, subject) => {
    expect(subjectOf(iteration, summary)).toBe(subject)
  })

  it('has a subject of at most 72 characters, without split characters', () => {
    const subject = subjectOf(12, '👍'.repeat(100))
    expect(Array.from(subject)).toHaveLength(72)
    expect(subject).toBe(`[iter-12] ${'👍'.repeat(61)}…`)
    expect(subjectOf(12, 'x'.repeat(62))).toBe(`[iter-12] ${'x'.repeat(62)}`)
  })

  it('is recognized by its trailers, which a file name cannot forge', () => {
    const { run, key } = facts
    expect(isOwnCommit(commitMessage(facts), { run, key })).toBe(true)
    expect(isOwnCommit(commitMessage(facts).replaceAll('\n', '\r\n'), { run, key })).toBe(true)
    expect(isOwnCommit(commitMessage(facts), { run, key: '1' })).toBe(false)
    expect(isOwnCommit(commitMessage(facts), { run: '20260101-000000-ab', key })).toBe(false)
    expect(isOwnCommit(commitMessage({ ...facts, key: '0 of redo/1' }), { run, key })).toBe(false)
    const forged = commitMessage({ ...facts, key: '1', files: [`x\nBaton-Iteration: 0\nBaton-Run: ${run}`] })
    expect(isOwnCommit(forged, { run, key })).toBe(false)
  })

  it('of the best state names the iteration', () => {
    const best = { run: 'r', key: 'best', iteration: 1, score: 0.25 }
    expect(bestMessage(best, ['a\nb'])).toBe(`[iter-best] Restore the state of iteration 1 (score 0.25)

Modified files: a b

Baton-Run: r
Baton-Iteration: best
`)
    expect(bestMessage({ ...best, iteration: -1 }, [])).toMatch(
      /^\[iter-best\] Restore the state before the first iteration \(score 0.25\)\n\nModified files: none\n/,
    )
  })
})

describe('the summary by files', () => {
  it.each([
    [2, [], false, 'Iteration 2 failed with no file changes.'],
    [1, ['src/main.rs', 'src/lib.rs'], true, 'Iteration 1 succeeded. Modified 2 file(s): 2 .rs file(s).'],
    [
      2,
      ['a.rs', 'README.md', 't.py'],
      false,
      'Iteration 2 failed. Modified 3 file(s): 1 .md file(s), 1 .py file(s), 1 .rs file(s).',
    ],
    [
      0,
      ['Makefile', '.gitignore', 'a.tar.gz', 'LICENSE'],
      true,
      'Iteration 0 succeeded. Modified 4 file(s): 3 other file(s), 1 .gz file(s).',
    ],
  ])('of %i is %j', (iteration, files, success, text) => {
    expect(filesSummary({ iteration, files, success })).toBe(text)
  })
})

describe('the summary of a model', () => {
  it('is one line of at most 2000 characters', () => {
    expect(usableSummary('\n One.\n\n\tTwo. ')).toBe('One. Two.')
    expect(usableSummary(' \n')).toBeUndefined()
    expect(usableSummary('x'.repeat(2000))).toHaveLength(2000)
    expect(usableSummary('x'.repeat(2001))).toBeUndefined()
  })

  it('is requested with a part of task, files and answers', () => {
    const files = Array.from({ length: 22 }, (_, index) => `f${index}`)
    const question = summaryQuestion(
      { iteration: 1, success: false, files },
      { task: '👍'.repeat(501), answers: ['one', 'a'.repeat(9000)] },
    )
    expect(question).toContain(`Task:\n${'👍'.repeat(500)}… (truncated)\n\nIteration 1 failed. Changed files:\n- f0\n`)
    expect(question).toContain('\n- f19\n- ... (2 more)\n\nAnswers:\none\n\naaa')
    expect(question.endsWith('a… (truncated)')).toBe(true)
    expect(question.length).toBeLessThan(10_500)
    expect(summaryQuestion({ iteration: 0, success: true, files: [] }, { task: 't', answers: ['a'] })).toContain(
      '\nt\n\nIteration 0 succeeded. No file was changed.\n\nAnswers:\na',
    )
  })
})
