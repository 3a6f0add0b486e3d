import { describe, expect, it } from 'vitest'
import { createPlaceTree } from '../../src/journal/tree.ts'
import { createRandom } from '../helpers/random.ts'

const odd = [
  '',
  'a',
  '#',
  '#0',
  'a#',
  'a##1',
  '/',
  'a//b',
  'a/#0',
  'a#0/b#1',
  'a#00',
  'a#1.5',
  'a#-1',
  'a#1e3',
  'a#99999999999',
  'é 😀#3',
]

describe('a place tree', () => {
  it('stores data for each place, whatever its name', () => {
    const tree = createPlaceTree()
    for (const [index, place] of odd.entries()) tree.make(place).begin = index + 1
    expect(odd.map((place) => tree.find(place)?.begin)).toEqual(odd.map((_, index) => index + 1))
    const visited: string[] = []
    tree.visit((node, place) => {
      if (node.begin !== undefined) visited.push(place)
      return undefined
    })
    expect(visited.toSorted()).toEqual(odd.toSorted())
  })

  it('distinguishes an observation and a returned call at one place', () => {
    const tree = createPlaceTree()
    tree.setAnswer('a#0', 5)
    tree.setAnswer('a#0', 6)
    tree.setReturned('a#1', 7)
    tree.setReturned('a#0', 8)
    tree.setAnswer('a#1', 9)
    tree.make('a#2/b')
    tree.setReturned('a#2', 10)
    expect(tree.find('a#0')).toEqual({ answer: 6, returned: 8 })
    expect(tree.find('a#1')).toEqual({ answer: 9, returned: 7 })
    expect(tree.find('a#2')).toMatchObject({ returned: 10 })
    expect(tree.find('a#2/b')).toEqual({})
  })

  it('knows whether a section continued after a call', () => {
    const tree = createPlaceTree()
    for (const number of [0, 1, 5]) tree.setAnswer(`a#${number}`, number + 1)
    tree.make('a/later')
    expect([0, 1, 4, 5, 6].map((number) => tree.goesOn(`a#${number}`))).toEqual([true, true, true, false, false])
    expect(['a', 'a/later', 'b#0', 'a#x', ''].map((place) => tree.goesOn(place))).toEqual(Array(5).fill(false))
  })

  it('removes a place and everything below it when it is reopened, and reopens the places around it', () => {
    const tree = createPlaceTree()
    for (const place of ['a', 'a/b', 'a/b#0/c', 'a/d']) tree.make(place).done = 1
    tree.reopen('a/b')
    expect([tree.find('a/b'), tree.find('a/b#0/c')]).toEqual([undefined, undefined])
    expect([tree.find('a')?.done, tree.find('a/d')?.done]).toEqual([undefined, 1])
    tree.setAnswer('a/b#0', 3)
    expect(tree.find('a/b#0')).toEqual({ answer: 3 })
    tree.reopen('not/there#1')
    tree.reopen('a/b#0')
    expect(tree.find('a/b#0')).toBe(undefined)
  })

  it('visits outer places first, and nothing below skipped ones', () => {
    const tree = createPlaceTree()
    for (const place of ['a/x', 'b#0/y', 'c/z']) tree.make(place)
    const visited: string[] = []
    tree.visit((_, place) => {
      visited.push(place)
      return place === 'c' ? 'skip' : undefined
    })
    expect(visited).toEqual(['a', 'a/x', 'b', 'b#0', 'b#0/y', 'c'])
  })

  it('behaves like a list of places', () => {
    const random = createRandom(7)
    const names = ['a', 'b', 'a/b', 'a#0', 'a#1', 'a#1/c', 'a#1/c#2', 'b/d#3/e', 'a/b#4']
    const tree = createPlaceTree()
    const list = new Map<string, number>()
    for (let turn = 1; turn < 3000; turn += 1) {
      const place = names[Math.floor(random() * names.length)] ?? ''
      if (random() < 0.2) {
        tree.reopen(place)
        for (const known of list.keys())
          if (known === place || (/^[/#]/.test(known.slice(place.length)) && known.startsWith(place)))
            list.delete(known)
      } else {
        tree.setAnswer(place, turn)
        list.set(place, turn)
      }
      expect(names.map((name) => tree.find(name)?.answer)).toEqual(names.map((name) => list.get(name)))
    }
  })
})
