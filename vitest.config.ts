import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Unit tests share a process (spec/style.md 5.2): no module may keep state. Tests that spawn the command are isolated.
export default defineConfig({
  test: {
    // vitest leaves one core idle by default: on two cores that would run everything one after the other
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/content/**'],
          pool: 'threads',
          isolate: false,
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/content/**/*.test.ts'],
          pool: 'threads',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
