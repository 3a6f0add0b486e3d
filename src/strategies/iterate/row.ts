import type { Strategy } from '../../run/strategy.ts'

/** Keywords of `summarizer` that are no names of agents. */
const summarizers: ReadonlySet<string> = new Set(['files', 'llm'])

/** `[iterate]`: all tasks are repeated until a condition, a command or a score ends it. */
export const iterate: Strategy = {
  key: 'iterate',
  agents({ iterate: table }) {
    const name = table?.summarizer
    return name === undefined || summarizers.has(name) ? [] : [{ name, options: {}, path: ['iterate', 'summarizer'] }]
  },
  load: async (spec, options) =>
    spec.settings.iterate === undefined && spec.frontMatter['iterate'] === undefined
      ? undefined
      : (await import('./load.ts')).loadIteration(spec, options),
  repeat: async (run) => (await import('./prompt.ts')).startIterating(run),
  repeatAgent: async (...given) => (await import('./agent.ts')).iterateAgent(...given),
}
