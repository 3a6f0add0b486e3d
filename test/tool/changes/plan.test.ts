import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Directive } from '../../../src/tool/changes/directive.ts'
import { blockText } from '../../../src/tool/changes/search-replace.ts'
import { planChanges } from '../../../src/tool/changes/plan.ts'
import { planChange } from '../../../src/tool/changes/plan-content.ts'
import { type ChangeSpace, diskSpace, performStep } from '../../../src/tool/changes/change-space.ts'
import { createTextThread } from '../../../src/tool/changes/text-thread.ts'
import { testContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'
import { placeAt } from '../../helpers/effects.ts'

describe('planChange', () => {
  it('searches for texts as whole lines, and reports missing ones', () => {
    const byLine = (content: string, search: string, replace: string): unknown =>
      planChange({ kind: 'SearchReplace', filePath: 'f', content: `${blockText(search, replace)}\n` }, content)
    expect(byLine('foobar\nfoo\n', 'foo', 'x')).toMatchObject({ content: 'foobar\nx\n' })
    expect(byLine('a.foo\r\nfoo\r\nb', 'foo', '')).toMatchObject({ content: 'a.foo\r\nb' })
    expect(byLine('a\nfoo', 'foo', 'x\ny')).toMatchObject({ content: 'a\nx\ny' })
    expect(byLine('a\n\nfoo\n', 'a\n', 'b\n')).toMatchObject({ content: 'b\n\nfoo\n' })
    expect(byLine('a\nfoo', 'foo', '')).toMatchObject({ content: 'a' })
    expect(byLine('a\r\n', '', 'x')).toMatchObject({ content: 'x\r\na\r\n' })
    for (const content of ['foobar\n', '  foo\n', 'foo \n', 'x\nbarfoo']) {
      expect(byLine(content, 'foo', 'x')).toMatchObject({
        kind: 'refused',
        failures: [{ cause: 'Search block found only inside lines: it must contain whole lines' }],
      })
    }
    expect(byLine('bar\n', 'foo', 'x')).toMatchObject({ failures: [{ cause: 'Search block not found in content' }] })
  })

  it('returns the content of a new file, and refuses identical content', () => {
    const directive = { kind: 'New', filePath: 'a', content: 'x\n' } as const
    expect(planChange(directive, undefined)).toMatchObject({ kind: 'changed', content: 'x\n' })
    expect(planChange(directive, 'y\r\n')).toMatchObject({ kind: 'changed', content: 'x\r\n' })
    for (const same of ['x\n', 'x\r\n']) {
      expect(planChange(directive, same)).toEqual({ kind: 'same' })
    }
    expect(planChange({ ...directive, content: '' }, undefined)).toMatchObject({ kind: 'changed', content: '' })
  })

  it('appends literally', () => {
    const directive = { kind: 'Append', filePath: 'a', content: '+\n' } as const
    expect(planChange(directive, 'a')).toMatchObject({ content: 'a+\n' })
    expect(planChange(directive, undefined)).toMatchObject({ content: '+\n' })
    expect(planChange(directive, 'a\r\n')).toMatchObject({ content: 'a\r\n+\r\n' })
    expect(planChange({ ...directive, content: '' }, 'a')).toMatchObject({ kind: 'refused' })
  })

  it('returns the result of a patch with the failed hunks, and refuses it when none is left', () => {
    const patch = (content: string): { kind: 'Patch'; filePath: string; content: string } => ({
      kind: 'Patch',
      filePath: 'a',
      content,
    })
    const failure = { body: '@@\n-z', cause: 'its context and removed lines are not in the file' }
    expect(planChange(patch('@@\n-a\n+b\n@@\n-z\n'), 'a\n')).toEqual({
      kind: 'changed',
      doubts: [],
      content: 'b\n',
      hunkCount: 2,
      failures: [failure],
    })
    expect(planChange(patch('@@\n-z\n'), 'a\n')).toEqual({
      kind: 'refused',
      reason: '1 of 1 hunks failed: its context and removed lines are not in the file',
      failures: [failure],
    })
    expect(planChange(patch('@@\n-a\n+a\n'), 'a\n')).toMatchObject({ reason: 'the patch leaves the file as it is' })
    expect(planChange(patch('nothing'), 'a\n')).toMatchObject({ reason: expect.stringContaining('contains no hunk') })
    const cause = 'there is no file a to patch'
    expect(planChange(patch('@@\n-z\n'), undefined)).toEqual({
      kind: 'refused',
      reason: cause,
      failures: [{ body: '@@\n-z', cause }],
    })
  })
})

const patch = '@@\n-old\n+new\n'

const planned = (...given: readonly [readonly Directive[], ChangeSpace]) =>
  planChanges(...given, createTextThread(new AbortController().signal))

describe('planChanges', () => {
  it('changes nothing, and includes the results of earlier changes in the set', async () => {
    const root = tempTree({ a: 'old\n', 'dir/b': 'old\n', gone: 'x' })
    const context = testContext({ workspace: root })
    const directives: readonly Directive[] = [
      { kind: 'New', filePath: 'made/new.txt', content: 'old\n' },
      { kind: 'Patch', filePath: 'made/new.txt', content: patch },
      { kind: 'Copy', fromPath: 'made/new.txt', filePath: 'copy' },
      { kind: 'Append', filePath: 'copy', content: 'more\n' },
      { kind: 'Rename', fromPath: 'dir', filePath: 'moved' },
      { kind: 'Patch', filePath: 'moved/b', content: patch },
      { kind: 'Delete', filePath: 'gone' },
      { kind: 'New', filePath: 'gone', content: 'x' },
    ]
    const steps = await planned(directives, diskSpace(root, context))
    expect(steps.filter(({ item }) => !item.isSuccess)).toEqual([])
    expect(readdirSync(root).toSorted()).toEqual(['a', 'dir', 'gone'])
    expect(context.records).toEqual([])

    for (const { action } of steps) if (action !== undefined) performStep(action, { context, at: placeAt('x') })
    expect(readFileSync(join(root, 'made/new.txt'), 'utf8')).toBe('new\n')
    expect(readFileSync(join(root, 'copy'), 'utf8')).toBe('new\nmore\n')
    expect(readFileSync(join(root, 'moved/b'), 'utf8')).toBe('new\n')
    expect(readFileSync(join(root, 'gone'), 'utf8')).toBe('x')
  })

  it('finds impossible changes in a set, so that nothing of it is applied', async () => {
    const root = tempTree({ a: 'old\n', 'dir/b': 'old\n' })
    const directives: readonly Directive[] = [
      { kind: 'Rename', fromPath: 'a', filePath: 'c' },
      { kind: 'Patch', filePath: 'a', content: patch },
      { kind: 'Delete', filePath: 'dir' },
      { kind: 'Patch', filePath: 'dir/b', content: patch },
      { kind: 'New', filePath: 'folder/x', content: '' },
      { kind: 'New', filePath: 'folder', content: '' },
      { kind: 'New', filePath: 'c/below', content: '' },
    ]
    const steps = await planned(directives, diskSpace(root, testContext({ workspace: root })))
    const items = steps.map(({ item }) => item)
    expect(items.map(({ isSuccess, error }) => (isSuccess ? 'ok' : error))).toEqual([
      'ok',
      'there is no file a to patch',
      'ok',
      'there is no file dir/b to patch',
      'ok',
      'folder is a folder, not a file',
      'c/below cannot be written, because a part of its path is a file',
    ])
  })
})
