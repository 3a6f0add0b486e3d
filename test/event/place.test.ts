import { describe, expect, it } from 'vitest'
import {
  callPlace,
  conversationPlace,
  isWithin,
  item,
  openerOf,
  originOf,
  parsePlace,
  part,
  type Place,
  placeText,
  type Segment,
  task,
} from '../../src/event/place.ts'
import { createRandom, oneOf, type Random } from '../helpers/random.ts'

const at = parsePlace

const oddNames = [
  'lint',
  'agents/plan.aip',
  '50%',
  'a#1',
  'x+y',
  'a~0',
  '%2F',
  'ä ö',
  '',
  '0',
  '1:a',
  'turn',
  'pre',
  '.',
]

describe('the text of a place', () => {
  it.each([
    ['task/2/ask', [task(2), part('ask')]],
    ['redo/1/pre/0:lint/data#3', 5],
    ['task/0/agent/post_task+1:a%2Fb.aip+data~2/turn/1#0', 4],
    ['pre/0:a.lua/chunk#3/agent/b.aip/section', undefined],
    ['', []],
  ])('of %s can be rebuilt from its segments', (text, expected) => {
    const place = at(text)
    expect(placeText(place)).toBe(text)
    if (typeof expected === 'number') expect(place).toHaveLength(expected)
    else if (expected !== undefined) expect(place).toEqual(expected)
  })

  it('is unique, whatever names contain', () => {
    const random = createRandom(7)
    const texts = new Map<string, Place>()
    for (let round = 0; round < 3000; round += 1) {
      const place = anyPlace(random)
      const text = placeText(place)
      expect(parsePlace(text)).toEqual(place)
      expect(texts.get(text) ?? place).toEqual(place)
      texts.set(text, place)
    }
    expect(texts.size).toBeGreaterThan(2000)
  })
})

describe('a conversation', () => {
  it.each([
    ['task/5/post_task/0:write/output#2', 'task/5/agent/post_task+0:write+output~2'],
    ['task/0/ask', 'task/0/agent/ask'],
    ['redo/2/pre/1:plan', 'redo/2/agent/pre+1:plan'],
    ['pre/0:a%2Fb', 'agent/pre+0:a%2Fb'],
    // of an agent within an agent
    ['main/chunk#0/agent/p.md/task/3/task/0/ask', 'main/chunk#0/agent/p.md/task/3/task/0/agent/ask'],
    ['main', 'agent/main'],
    // a tool call of a turn starts a conversation itself
    ['task/1/agent/ask/turn/0/tool/2:search', 'task/1/agent/ask+turn+0+tool+2:search'],
  ])('opened by %s is at %s', (opener, expected) => {
    const place = conversationPlace(at(opener))
    expect(placeText(place)).toBe(expected)
    expect(parsePlace(expected)).toEqual(place)
  })

  it('belongs to the boundary in which it was opened', () => {
    const opener = at('task/5/post_task/0:write')
    const turn = [...conversationPlace(opener), { kind: 'turn', index: 3 } as const]
    expect(placeText(originOf(turn))).toBe('task/5/post_task/0:write/turn/3')
    expect(isWithin(placeText(originOf(turn)), 'task/5/post_task/0:write')).toBe(true)
    expect(isWithin(placeText(originOf(turn)), 'task/5/post_task/0:wri')).toBe(false)
    expect(openerOf(callPlace(turn, 0))).toEqual(opener)
    expect(openerOf(opener)).toEqual(opener)
  })

  it('within another conversation is identified by the place where the outer one was opened', () => {
    const tool = at('task/1/agent/ask/turn/0/tool/2:search')
    const inner = [...conversationPlace(tool), { kind: 'turn', index: 0 } as const]
    expect(placeText(openerOf(inner))).toBe('task/1/ask/turn/0/tool/2:search')
  })
})

/** A place as code creates it: which segments can follow depends on the one before. */
function anyPlace(random: Random): Place {
  const place: Segment[] = []
  const length = below(random, 6)
  while (place.length < length) place.push(...anySegments(random))
  return place
}

function below(random: Random, count: number): number {
  return Math.floor(random() * count)
}

function anySegments(random: Random): readonly Segment[] {
  const name = oneOf(random, oddNames)
  const number = below(random, 12)
  const call: Segment = { kind: 'call', number }
  return oneOf<readonly Segment[]>(random, [
    [{ kind: 'redo', round: number }],
    [task(number)],
    [{ kind: 'stage', stage: oneOf(random, ['pre', 'pre_task', 'post_task', 'post']) }],
    [{ kind: 'step', index: number, name }],
    [{ kind: 'section', name: 'data' }, call, { kind: 'agent', name }],
    [part('files'), item(/^\d+$/.test(name) ? Number(name) : name)],
    [
      { kind: 'turn', index: number },
      { kind: 'tool', index: number, name },
    ],
    [task(number), { kind: 'conversation', opened: [part('ask'), { kind: 'step', index: number, name }] }],
    [{ kind: 'section', name: 'output' }, call],
  ])
}
