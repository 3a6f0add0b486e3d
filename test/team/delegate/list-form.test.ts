import { describe, expect, it } from 'vitest'
import type { WorkItem } from '../../../src/team/delegate/items.ts'
import { tidy } from '../../../src/team/delegate/items.ts'
import { listForm } from '../../../src/team/delegate/list-form.ts'
import { createRandom, oneOf, type Random } from '../../helpers/random.ts'

const names = { unnamed: [], team: 'auth' }
const markdown = listForm('markdown')
const json = listForm('json')

const words = [
  'write', 'the', 'docs', '(@ann)', '(blocked by #1)', '\\(@ann)', '#7', '- [ ]', '[x]', 'é漢字', '```', '(see', 'it)',
  '\\', '(blocked by nobody)', '(blocked by #1, #2)',
] // prettier-ignore

function randomItems(random: Random): readonly WorkItem[] {
  const ids = Array.from({ length: Math.floor(random() * 6) }, (_, index) => String(index + 1))
  return tidy(
    ids.map((id) => ({
      id,
      subject: Array.from({ length: 1 + Math.floor(random() * 4) }, () => oneOf(random, words)).join(' '),
      status: oneOf(random, ['pending', 'in_progress', 'completed'] as const),
      ...(random() < 0.5 ? { owner: oneOf(random, ['ann', 'Code-1']) } : {}),
      blocked_by: ids.filter(() => random() < 0.2),
    })),
  )
}

describe.each([
  ['markdown', markdown],
  ['json', json],
] as const)('a list in %s', (_, form) => {
  it('names its source, and is written unchanged', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const items = randomItems(createRandom(seed))
      const text = form.write(undefined, items, names)
      expect(form.read(text)).toEqual(items)
      expect(form.write(text, items, names)).toBe(text)
    }
  })

  it('contains what is written over it, whatever it was before', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed)
      const before = form.write(undefined, randomItems(random), names)
      const items = randomItems(random)
      const read = form.read(form.write(before, items, names)) ?? []
      expect(read.toSorted((left, right) => Number(left.id) - Number(right.id))).toEqual(items)
    }
  })
})

describe('a list in Markdown', () => {
  it('has the form of a checklist', () => {
    const items: readonly WorkItem[] = [
      { id: '1', subject: 'Design it', status: 'completed', owner: 'Plan-1', blocked_by: [] },
      { id: '2', subject: 'Build it', status: 'in_progress', owner: 'Code-1', blocked_by: [] },
      { id: '3', subject: 'Test it', status: 'pending', blocked_by: ['2'] },
    ]
    expect(markdown.write(undefined, items, names)).toBe(
      '# Tasks of team auth\n\n- [x] #1 Design it (@Plan-1)\n- [~] #2 Build it (@Code-1)\n- [ ] #3 Test it (blocked by #2)\n',
    )
  })

  it('keeps lines that are not items, and the format of the others', () => {
    const text = [
      '# Auth', '', 'Some words.', '* [ ]   #1 Design  it', '  more about it', '  - [ ] a box of its own', '```',
      '- [ ] #2 an example', '```', '- [X] #2 Build it\r', '- [ ] new', '', 'The end.',
    ].join('\n') // prettier-ignore
    const read = markdown.read(text)
    expect(read?.map(({ id, subject, status }) => [id, subject, status])).toEqual([
      ['1', 'Design it', 'pending'],
      ['2', 'Build it', 'completed'],
      [undefined, 'new', 'pending'],
    ])
    const items: readonly WorkItem[] = [
      { id: '1', subject: 'Design it', status: 'in_progress', owner: 'ann', blocked_by: [] },
      { id: '2', subject: 'Build it', status: 'completed', blocked_by: [] },
      { id: '3', subject: 'new', status: 'pending', blocked_by: [] },
      { id: '4', subject: 'Test it', status: 'pending', blocked_by: ['1'] },
    ]
    expect(markdown.write(text, items, { unnamed: ['3'], team: 'auth' })).toBe(
      text
        .replace('* [ ]   #1 Design  it', '* [~] #1 Design it (@ann)')
        .replace('- [ ] new', '- [ ] #3 new\n- [ ] #4 Test it (blocked by #1)'),
    )
    expect(markdown.write(text, [], { unnamed: ['3'], team: 'auth' })).not.toMatch(/Design|- \[X\]|new/)
  })
})

describe('a list in JSON', () => {
  it('is an array (TV36), and keeps unknown fields', () => {
    const text = '[{"id": 1, "subject": "a", "priority": "high"}, "a remark", {"subject": "b"}]'
    const items = json.read(text) ?? []
    expect(items.map(({ id, status }) => [id, status])).toEqual([
      ['1', 'pending'],
      [undefined, 'pending'],
    ])
    const written: readonly WorkItem[] = [
      { id: '1', subject: 'a', status: 'completed', owner: 'ann', blocked_by: [] },
      { id: '2', subject: 'b', status: 'pending', blocked_by: [] },
    ]
    expect(JSON.parse(json.write(text, written, { unnamed: ['2'], team: 'auth' }))).toEqual([
      { id: '1', subject: 'a', status: 'completed', owner: 'ann', blocked_by: [], priority: 'high' },
      'a remark',
      { id: '2', subject: 'b', status: 'pending', owner: null, blocked_by: [] },
    ])
    expect(json.read('[{"id":')).toBeUndefined()
  })
})
