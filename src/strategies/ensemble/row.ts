import { defined, isJsonObject, type Json } from '../../base/json.ts'
import type { PlannedStrategy } from '../../plan/planner.ts'

/** `[ensemble]`: several agents answer at the same time, and their answers become one. */
export const ensemble: PlannedStrategy = {
  key: 'ensemble',
  agents({ ensemble: table }) {
    const members = (table?.members ?? []).flatMap(({ index, agent, model }) =>
      agent === undefined
        ? []
        : [{ name: agent, options: defined({ model }), path: ['ensemble', 'agents', index, 'agent'] }],
    )
    const { aggregator } = table ?? {}
    const last =
      aggregator === undefined
        ? []
        : [{ name: aggregator, options: {}, path: ['ensemble', 'aggregator'], isLate: true }]
    return [...members, ...last]
  },
  programs: ({ ensemble: table }) =>
    (table?.members ?? []).flatMap(({ name, line }) => (line === undefined ? [] : [{ name, env: line.env }])),
  programTables: (table) => membersIn(table).map((member, index) => [nameIn(member, index), member]),
  changesByTools: ({ ensemble: table }) => table?.isolation === 'worktree',
  hasParts: true,
  readsInput: ({ ensemble: table }) =>
    table?.aggregator !== undefined ||
    table?.members.some(({ agent, line }) => agent !== undefined || line !== undefined) === true,
  asksModel: ({ ensemble: table }) => table?.aggregate === 'synthesis' && table.model === undefined,
  /** Those of members without their own agent, and that of the synthesis. */
  namedModels({ ensemble: table }) {
    const members = (table?.members ?? []).flatMap(({ index, model, agent, line }) =>
      model === undefined || agent !== undefined || line !== undefined
        ? []
        : [{ name: model, path: ['ensemble', 'agents', index, 'model'] }],
    )
    return table?.model === undefined ? members : [...members, { name: table.model, path: ['ensemble', 'model'] }]
  },
  models: async (around) => (await import('./load.ts')).modelsOfEnsemble(around),
  problems: async (spec, { output }) => (await import('./load.ts')).ensembleProblems(spec, output),
  outline: async (task) => (await import('./plan.ts')).outlineOf(task),
  shape: async () => (await import('./plan.ts')).ensembleShape,
  answer: async (call, context) => (await import('./run.ts')).runEnsemble(call, context),
}

function membersIn(table: Json): readonly Json[] {
  const { agents = null } = isJsonObject(table) ? table : {}
  return Array.isArray(agents) ? (agents as readonly Json[]) : []
}

function nameIn(member: Json, index: number): string {
  const { name = null } = isJsonObject(member) ? member : {}
  return typeof name === 'string' ? name : `member${index + 1}`
}
