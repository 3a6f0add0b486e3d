import type { PlannedStrategy } from '../../plan/planner.ts'

/** `[workflow]`: steps that depend on each other are the tasks. */
export const workflow: PlannedStrategy = {
  key: 'workflow',
  ownTasks: {
    reason: 'the steps are the tasks',
    hint: 'Let a step with for_each work on a list; its items may be params or the output of another step.',
  },
  hasInstructions: true,
  readsInput: () => true,
  asksModel: ({ workflow: table }) => table?.steps.some(({ agent }) => agent === undefined) === true,
  /** The agents of the steps and their fallbacks. */
  agents: ({ workflow: table }) =>
    (table?.steps ?? []).flatMap(({ index, agent, fallback, options }) => {
      const path = ['workflow', 'step', index]
      const own = agent === undefined ? [] : [{ name: agent, options, path: [...path, 'agent'] }]
      const others = fallback.map((name, position) => ({ name, options, path: [...path, 'fallback', position] }))
      return [...own, ...others].map((named) => ({ ...named, isLate: true }))
    }),
  givenOptions: ({ workflow: table }) =>
    (table?.steps ?? []).map(({ index, options }) => ({ options, path: ['workflow', 'step', index] })),
  ignoresAgent: true,
  inPlace: ({ workflow: table, ...others }) =>
    table === undefined
      ? others
      : { ...others, workflow: { ...table, steps: table.steps.map(({ isolation: _own, ...step }) => step) } },
  hasParts: true,
  namedModels: ({ workflow: table }) =>
    (table?.steps ?? []).flatMap(({ index, options: { model } }) =>
      typeof model === 'string' ? [{ name: model, path: ['workflow', 'step', index, 'options', 'model'] }] : [],
    ),
  models: async (around) => (await import('./check.ts')).modelsOfSteps(around),
  problems: async ({ document, settings }, { compiler }) =>
    settings.workflow === undefined
      ? []
      : (await import('./check.ts')).workflowProblems(settings.workflow, { document, compiler }),
  outline: async (task) => (await import('./plan.ts')).outlineOf(task),
  shape: async () => (await import('./plan.ts')).workflowShape,
  answer: async (call, context) => (await import('./run.ts')).answerBySteps(call, context),
}
