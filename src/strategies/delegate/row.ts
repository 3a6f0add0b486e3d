import type { PlannedStrategy } from '../../plan/planner.ts'

/** `[delegate]`: a leader and workers share a list of items. */
export const delegate: PlannedStrategy = {
  key: 'delegate',
  ownTasks: { reason: 'the leader creates the items', hint: 'Say in the prompt what the team is to work on.' },
  readsInput: () => true,
  agents: ({ delegate: table }) =>
    (table?.workers ?? []).flatMap(({ agent, index }) =>
      index === undefined ? [] : [{ name: agent, options: {}, path: ['delegate', 'workers', index], isLate: true }],
    ),
  leads: true,
  problems: async (spec) => (await import('./load.ts')).delegateProblems(spec),
  answer: async (call, context) => (await import('./run.ts')).answerByTeam(call, context),
}
