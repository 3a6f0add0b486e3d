import { describe } from 'vitest'
import { core } from '../helpers/series.ts'
import { editingScenarios } from '../e2e/mini-coder/editing.ts'
import { mapScenarios } from '../e2e/mini-coder/maps.ts'
import { repairScenarios } from '../e2e/mini-coder/repair.ts'

// The scenarios of mini-coder.test.ts that use the most functions, on the second engine. test/script/ compares all
// functions on both engines; the whole series has the other scenarios as well.
describe('mini@coder with fengari', () => {
  describe('editing files', () => editingScenarios('fengari'))
  if (core(false, true)) {
    describe('maps of files', () => mapScenarios('fengari'))
    describe('repairing changes', () => repairScenarios('fengari'))
  }
})
