import { describe, expect, it } from 'vitest'
import { canEndAtOnce, blockingMember, stallOf, type TeamView, type WaitFor } from '../../../src/team/core/stalls.ts'
import { leaderId } from '../../../src/event/collab.ts'

type State = 'ended' | 'person'

/** `{ A: 'B C' }`: A waits for B and C; `B|C`: for any of them. */
function viewOf(waits: { readonly [id: string]: string }, states: { readonly [id: string]: State } = {}): TeamView {
  return {
    stateOf: (id) => (id === leaderId ? 'leader' : (states[id] ?? 'open')),
    waitsOf: (id) => (waits[id] === undefined ? [] : [waitOf(waits[id])]),
    nameOf: (id) => id,
  }
}

function waitOf(text: string): WaitFor {
  return text.includes('|') ? { ids: text.split('|'), returnWhen: 'any' } : { ids: text.split(' '), returnWhen: 'all' }
}

describe('waits that can never end', () => {
  it.each([
    ['itself', { A: 'A' }, 'wait cycle: A waits for A'],
    ['two', { A: 'B', B: 'A' }, 'wait cycle: A waits for B, B waits for A'],
    ['three', { A: 'B', B: 'C', C: 'A' }, 'wait cycle: A waits for B, B waits for C, C waits for A'],
    [
      'three through one of several',
      { A: 'W B', B: 'C', C: 'W A' },
      'wait cycle: A waits for B, B waits for C, C waits for A',
    ],
    ['any of two that both wait for it', { A: 'B|C', B: 'A', C: 'A' }, 'wait cycle: A waits for B, B waits for A'],
    [
      'a cycle that it is not in',
      { A: 'B', B: 'C', C: 'B' },
      'this wait can never end: A waits for B; B waits for C, C waits for B',
    ],
    [
      'the leader, which works',
      { A: 'B', B: leaderId },
      `this wait can never end: A waits for B, B waits for ${leaderId}, which ends only after its agents`,
    ],
    [
      'the leader, which waits for another',
      { A: leaderId, [leaderId]: 'W' },
      `this wait can never end: A waits for ${leaderId}, which ends only after its agents`,
    ],
  ])('are detected: %s', (_, waits, message) => {
    expect(stallOf('A', viewOf(waits))?.message).toBe(message)
  })

  it.each<[string, { readonly [id: string]: string }, { readonly [id: string]: State }?]>([
    ['who works', { A: 'B' }],
    ['somebody who waits for one that works', { A: 'B', B: 'C D', C: 'D' }],
    ['any of two, one of whom works', { A: 'B|W', B: 'A' }],
    ['a cycle that one that works gets out of', { A: 'B', B: 'A|W' }],
    ['one that has ended', { A: 'E', E: 'A' }, { E: 'ended' }],
    ['the leader or one that works', { A: `${leaderId}|W` }],
    ['one that waits for a person', { A: 'P' }, { P: 'person' }],
  ])('do not include %s', (_, waits, states = {}) => {
    expect(stallOf('A', viewOf(waits, states))).toBeUndefined()
  })

  it.each<[string, boolean]>([
    ['W', true],
    ['E W', true],
    ['B|W', true],
    ['B W', false],
    ['P', false],
    [leaderId, false],
  ])('for %s do not require a search: %s', (wait, isSo) => {
    const view = viewOf({ B: 'W' }, { P: 'person', E: 'ended' })
    expect(canEndAtOnce(waitOf(wait), view)).toBe(isSo)
  })

  it('are detected through a chain of 2,000 waiting agents', () => {
    const waits = Object.fromEntries(
      Array.from({ length: 2_000 }, (__, index) => [`A${index}`, `A${(index + 1) % 2_000}`]),
    )
    expect(stallOf('A0', viewOf(waits))?.agents).toHaveLength(2_000)
    expect(stallOf('A0', viewOf({ ...waits, A1999: 'W' }))).toBeUndefined()
  })

  it('name the person that a wait depends on, if nothing else can end it', () => {
    const view = viewOf({ B: 'P', C: 'W' }, { P: 'person', E: 'ended' })
    expect(blockingMember(waitOf('E B'), view)).toBe('P')
    expect(blockingMember(waitOf('P|B'), view)).toBe('P')
    expect(blockingMember(waitOf('B C'), view)).toBeUndefined()
    expect(blockingMember(waitOf('P W'), view)).toBeUndefined()
  })
})
