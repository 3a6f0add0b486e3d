import { describe, expect, it } from 'vitest'
import { toolLayers, toolsThrough } from '../../../src/team/core/tool-filters.ts'
import { builtInDefinitions } from '../../../src/config/collect-definitions.ts'
import type { AgentDefinition } from '../../../src/event/agent.ts'

type Definition = Pick<AgentDefinition, 'tools' | 'disallowedTools' | 'allMcp'>

function definition(
  tools: readonly string[] | undefined,
  disallowedTools: readonly string[] = [],
  allMcp = false,
): Definition {
  return { tools, disallowedTools, allMcp }
}

function builtIn(name: keyof typeof builtInDefinitions): Definition {
  const { tools, disallowed_tools } = builtInDefinitions[name]
  return definition(tools as readonly string[], disallowed_tools as readonly string[] | undefined)
}

/** The tools of a caller; one is of an MCP server. */
const registry = [
  'bash',
  'read',
  'edit',
  'write',
  'glob',
  'grep',
  'webfetch',
  'task',
  'task_output',
  'task_stop',
  'enter_plan',
  'exit_plan',
  'fs__read',
]

const general = builtIn('general-purpose')
const explore = builtIn('Explore')
const plan = builtIn('Plan')

const everything = ['bash', 'read', 'edit', 'write', 'glob', 'grep', 'webfetch']

describe('the tools of a sub-agent', () => {
  it.each<[string, Definition, readonly string[]]>([
    // TV25
    ['Bash', builtIn('Bash'), ['bash']],
    // TV26
    ['general-purpose', general, [...everything, 'fs__read']],
    // TV27
    ['Explore', explore, ['bash', 'read', 'glob', 'grep', 'webfetch', 'fs__read']],
    ['one that allows task', definition(['task', 'read']), ['read']],
    ['one that allows and denies edit', definition(['edit', 'read'], ['edit']), ['read']],
    // TV28: in the order of the registry, and without tools that it does not name
    ['Plan', plan, ['bash', 'read', 'glob', 'grep']],
    ['one that says nothing', definition(undefined), [...everything, 'fs__read']],
    ['one with all tools of servers', definition(['read'], [], true), ['read', 'fs__read']],
    ['one that denies a server', definition(undefined, ['mcp__fs__*'], true), everything],
  ])('%s', (_, definition, expected) => {
    expect(toolsThrough(registry, toolLayers(definition, { isBackground: false }))).toEqual(expected)
  })

  it.each<[string, Definition, readonly string[]]>([
    // TV28
    ['general-purpose', general, everything],
    ['one with all tools of servers', { ...general, allMcp: true }, [...everything, 'fs__read']],
    ['Plan', plan, ['bash', 'read', 'glob', 'grep']],
  ])('in the background are those of %s', (_, definition, expected) => {
    expect(toolsThrough(registry, toolLayers(definition, { isBackground: true }))).toEqual(expected)
  })

  it('are empty if its caller has none', () => {
    expect(toolsThrough([], toolLayers(general, { isBackground: false }))).toEqual([])
  })

  it('are at most those that its caller allows for this call', () => {
    const layers = toolLayers(explore, { isBackground: false, allowedTools: ['read', 'edit', 'task'] })
    expect(toolsThrough(registry, layers)).toEqual(['read'])
  })

  it('are read-only if its caller is in plan mode', () => {
    const layers = toolLayers(general, { isBackground: false, onlyReads: true })
    expect(toolsThrough(registry, layers)).toEqual(['read', 'glob', 'grep', 'webfetch'])
  })
})
