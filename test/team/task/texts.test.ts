import { describe, expect, it } from 'vitest'
import { agentNames, taskText } from '../../../src/team/core/texts.ts'

describe('the list of agents that a model may start', () => {
  const many = Array.from({ length: 2000 }, (_, index) => ({
    name: `a${index}`,
    description: 'Looks.',
    from: 'workspace' as const,
  }))
  const own = { name: 'own', description: 'x'.repeat(5000), from: 'prompt' as const }

  it('has one line for each agent, with as much of its description as fits', () => {
    const text = taskText([{ name: 'reader', description: 'Reads.', from: 'built-in' }, own])
    expect(text).toMatch(/\nAgents:\n- reader: Reads\.\n- own: x{1000}… \(4000 more characters\)$/)
  })

  it('omits the last of very many, but never those that the file defines', () => {
    const lines =
      taskText([...many, own])
        .split('\nAgents:\n')[1]
        ?.split('\n') ?? []
    expect(lines.join('\n').length).toBeLessThan(20_200)
    expect(lines.at(-2)).toMatch(/^- own: x/)
    expect(lines.at(-1)).toBe(
      `(${2001 - (lines.length - 1)} more agents do not fit in this list: use one only if you know its name)`,
    )
    expect(agentNames([...many, ...many])).toMatch(/^a0, a1, .*, and \d+ more$/)
  })
})
