import { describe } from 'vitest'
import { agentScenarios } from '../e2e/mini-coder/agents.ts'
import { chainScenarios } from '../e2e/mini-coder/chain.ts'
import { chatScenarios } from '../e2e/mini-coder/chat.ts'
import { editingScenarios } from '../e2e/mini-coder/editing.ts'
import { mapScenarios } from '../e2e/mini-coder/maps.ts'
import { repairScenarios } from '../e2e/mini-coder/repair.ts'
import { startScenarios } from '../e2e/mini-coder/start.ts'

// The scenarios P01 to P13 of docs/compat.md with our own pack (test/fixtures/packs/mini@coder), which uses the same
// functions in the same ways as the published one. Each runs the built command.
describe('mini@coder with lua54', () => {
  const engine = 'lua54'
  describe('starting', () => startScenarios(engine))
  describe('editing files', () => editingScenarios(engine))
  describe('sub-agents', () => chainScenarios(engine))
  describe('maps of files', () => mapScenarios(engine))
  describe('repairing changes', () => repairScenarios(engine))
  describe('agents and packs', () => agentScenarios(engine))
  describe('prompts', () => chatScenarios(engine))
})
