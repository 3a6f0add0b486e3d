import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import { planChanges } from '../../../src/tool/changes/plan.ts'
import { createTextThread } from '../../../src/tool/changes/text-thread.ts'
import { type ChangeSpace, filesAfter } from '../../../src/tool/changes/change-space.ts'
import { type AnswerCase, builtCases, readCases } from './answers/cases.ts'

const handMade = readCases(readFileSync(new URL('answers/hand-made.txt', import.meta.url), 'utf8'))

function spaceOf(before: Readonly<Record<string, string>>): ChangeSpace {
  const paths = Object.keys(before)
  return {
    files: {
      bytesAt: (path) => Buffer.byteLength(before[path.slice(1)] ?? ''),
      kindAt: (path) => {
        if (before[path.slice(1)] !== undefined) return 'file'
        return path === '/' || paths.some((known) => `/${known}`.startsWith(`${path}/`)) ? 'folder' : undefined
      },
      textAt: (path) => before[path.slice(1)] ?? '',
    },
    resolve: (path) => `/${path}`,
    tolerance: 'marks',
  }
}

/** The files after an answer if all of it can be applied, otherwise unchanged; and what is wrong with it. */
async function outcomeOf({ before, answer, after }: AnswerCase): Promise<{
  readonly files: object
  readonly faults: readonly string[]
}> {
  const { directives } = readFileChanges(answer)
  const space = spaceOf(before)
  const steps = await planChanges(directives, space, createTextThread(new AbortController().signal))
  const faults = directives.flatMap((directive, index) => {
    if (directive.kind === 'Fail') return [directive.fault]
    return steps[index]?.item.isSuccess === false ? ['refused'] : []
  })
  const actions = faults.length > 0 ? [] : steps.flatMap(({ action }) => action ?? [])
  const files = actions.reduce(filesAfter, space.files)
  const paths = [
    ...new Set([...Object.keys(before), ...Object.keys(after), ...actions.map(({ path }) => path.slice(1))]),
  ]
  const left = paths.flatMap((path) => (files.kindAt(`/${path}`) === 'file' ? [[path, files.textAt(`/${path}`)]] : []))
  return { files: Object.fromEntries(left) as object, faults: [...new Set(faults)] }
}

async function check(one: AnswerCase): Promise<void> {
  const { files, faults } = await outcomeOf(one)
  const expected = Object.entries({ ...one.before, ...one.after }).filter(([, content]) => content !== undefined)
  if (one.fault === 'any') expect(faults.length).toBeGreaterThan(0)
  else expect(faults).toEqual(one.fault === undefined ? [] : [one.fault])
  expect(files).toEqual(Object.fromEntries(expected))
}

describe('the files after hand-made answers', () => {
  it.each(handMade.map((one) => [one.title, one] as const))('%s', (_, one) => check(one))
})

describe('the files after each form in each wrapping', () => {
  it.each(builtCases.map((one) => [one.title, one] as const))('%s', (_, one) => check(one))
})

describe('many changes in one answer', () => {
  const count = 5_000
  const each = (one: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => one(index)).join('')
  const content = each((index) => `a${index}\n  b${index}\nc${index}\n`)
  const changed = each((index) => `a${index}\n  B${index}\nc${index}\n`)
  const hunk = (index: number): string => `@@\n a${index}\n-  b${index}\n+  B${index}\n c${index}\n`
  const part = (index: number): string => `<<<<<<< SEARCH\n  b${index}\n=======\n  B${index}\n>>>>>>> REPLACE\n`
  const inPatch = (hunks: string): string => `<FILE_PATCH file_path="f.ts">\n${hunks}</FILE_PATCH>\n`

  it.each([
    ['hunks', inPatch(each(hunk))],
    ['hunks from the last to the first', inPatch(each((index) => hunk(count - 1 - index)))],
    ['hunks with wrong indentation', inPatch(each(hunk).replaceAll(/^(.)  /gm, '$1'))],
    ['blocks in one fence', `f.ts\n\`\`\`\n${each(part)}\`\`\`\n`],
    ['blocks in a fence each', each((index) => `f.ts\n\`\`\`\n${part(index)}\`\`\`\n`)],
  ])('are all applied: %s', async (title, answer) => {
    await check({ title, before: { 'f.ts': content }, answer, after: { 'f.ts': changed } })
  })

  it('are applied one after the other, however many there are', async () => {
    const moves = each((index) => `<FILE_RENAME from_path="f${index}" to_path="f${index + 1}" />\n`)
    await check({ title: '', before: { f0: 'x\n' }, answer: moves, after: { f0: undefined, [`f${count}`]: 'x\n' } })
  })

  it('are reported when none of them is closed, and when fences are nested endlessly', () => {
    const open = readFileChanges(each((index) => `<FILE_NEW file_path="f${index}">\n\`\`\`\n`))
    expect(open.directives).toHaveLength(count)
    const nested = `${'```a\n'.repeat(count)}<FILE_DELETE file_path="x" />\n${'```\n'.repeat(count)}`
    expect(readFileChanges(nested).directives).toMatchObject([{ kind: 'Fail' }])
  })
})

it('there are more than 40 hand-made answers and 200 built ones', () => {
  expect(handMade.length).toBeGreaterThanOrEqual(40)
  expect(builtCases.length).toBeGreaterThanOrEqual(200)
})
