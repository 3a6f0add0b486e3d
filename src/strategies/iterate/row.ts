import { summarizerName } from '../../settings/strategies/iterate.ts'
import type { PlannedStrategy } from '../../plan/planner.ts'

/** `[iterate]`: all tasks are repeated until a condition, a command or a score ends it. */
export const iterate: PlannedStrategy = {
  key: 'iterate',
  agents({ iterate: table }) {
    const name = summarizerName(table)
    return name === undefined ? [] : [{ name, options: {}, path: ['iterate', 'summarizer'], isLate: true }]
  },
  problems: async (spec) => (await import('./load.ts')).iterateProblems(spec),
  load: async (spec, options) =>
    spec.settings.iterate === undefined && spec.frontMatter['iterate'] === undefined
      ? undefined
      : (await import('./load.ts')).loadIteration(spec, options),
  outlineRepeated: async () => (await import('./plan.ts')).iterationOutlines,
  repeat: async (run) => (await import('./prompt.ts')).startIterating(run),
  checkRepeated: async (...given) => (await import('./head.ts')).checkIterationHead(...given),
  repeatAgent: async (...given) => (await import('./agent.ts')).iterateAgent(...given),
}
