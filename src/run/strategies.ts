import type { DataPath } from '../base/data-text.ts'
import type { BatonError } from '../base/error.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { RunSpec } from '../config/run-spec.ts'
import type { Settings } from '../config/settings.ts'
import { strategyKeys, type StrategyKey, type StrategyTables } from '../config/strategies.ts'
import type { RunContext } from '../event/context.ts'
import { type ChainState, instructionOf } from '../stage/state.ts'
import type { TaskAnswer } from './answer.ts'
import type { FileSet } from './files.ts'
import type { OutputSchema } from './output-schema.ts'
import type { TaskPlan } from './plan.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { Round } from './task.ts'
import type { CheckOptions } from './workflow/check.ts'

/** How several agents answer a task, with what is known of it before it starts. `Table`: what the front matter says. */
interface Strategy<Table> {
  /** The agents that the table names: they are found and read before anything starts. */
  readonly agents: (table: Table) => readonly StepAgent[]
  /** The models that it names for models without an agent. */
  readonly models: (table: Table) => readonly NamedModel[]
  /** All errors in its templates and expressions, each at its place; the first of them ends a run before it starts. */
  readonly problems?: (table: Table, options: CheckOptions) => Promise<readonly BatonError[]>
  /** @throws BatonError for what conflicts with the rest of the file, at its place */
  readonly check?: (
    table: Table,
    file: { readonly spec: RunSpec; readonly output: OutputSchema | undefined },
  ) => Promise<void>
  /** Why there is one task, and what to do instead of giving inputs. Omitted: as many as there are inputs. */
  readonly oneTask?: { readonly why: string; readonly hint: string }
  /** Its steps have instructions of their own: that of the file may be empty, and each tells which files it left out. */
  readonly hasSteps?: true
  /** Whether the model of the file may be called. Omitted: as without a strategy. */
  readonly asksMain?: (table: Table) => boolean
  /** Whether an agent or a program gets the input of the task. */
  readonly readsInput: (table: Table) => boolean
  /** Answers a task. Its code is loaded only for files with this strategy. */
  readonly answer: (table: Table, task: StrategyTask, context: RunContext) => Promise<TaskAnswer>
  /** The answers that it gets for a task, one after the other, for plans. Omitted: it is planned by code of its own. */
  readonly outline?: (table: Table, task: Pick<StrategyTask, 'target' | 'state'>) => Promise<readonly OutlinedAnswer[]>
}

export interface StepAgent {
  readonly name: string
  readonly options: JsonObject
  readonly path: DataPath
}

/** A model that a file names, and where. */
interface NamedModel {
  readonly name: string
  readonly path: DataPath
}

/** A task that a strategy answers. */
export interface StrategyTask extends Pick<Round, 'filesOf' | 'filesIn'> {
  readonly target: PromptTarget
  readonly plan: TaskPlan
  /** After the `pre_task` chain. */
  readonly state: ChainState
  readonly settings: Settings
  readonly files: FileSet
  /** From the caller of a file that is run as an agent: a message before the instruction. */
  readonly inputText: string
  /** The `-i` text, the working group, or the input from the caller of an agent. */
  readonly input: TaskPlan['input']
}

/** One answer of one agent or model, as it is known before a run. */
export interface OutlinedAnswer {
  readonly name: string
  readonly target: PromptTarget
  readonly state: ChainState
}

const strategies: { readonly [Key in StrategyKey]: Strategy<StrategyTables[Key]> } = {
  workflow: {
    agents: ({ steps }) =>
      steps.flatMap(({ index, agent, fallback, options }) => {
        const path = ['workflow', 'step', index]
        const own = agent === undefined ? [] : [{ name: agent, options, path: [...path, 'agent'] }]
        return [...own, ...fallback.map((name, position) => ({ name, options, path: [...path, 'fallback', position] }))]
      }),
    models: ({ steps }) =>
      steps.flatMap(({ index, options: { model } }) =>
        typeof model === 'string' ? [{ name: model, path: ['workflow', 'step', index, 'options', 'model'] }] : [],
      ),
    problems: async (workflow, options) => (await import('./workflow/check.ts')).workflowProblems(workflow, options),
    oneTask: {
      why: 'the steps are the tasks',
      hint: 'Let a step with for_each work on a list; its items may be params or the output of another step.',
    },
    hasSteps: true,
    asksMain: ({ steps }) => steps.some(({ agent }) => agent === undefined),
    readsInput: () => true,
    async answer(workflow, { target, state, settings, inputText, input, filesOf, filesIn }, context) {
      const { runWorkflow } = await import('./workflow/run.ts')
      const instruction = instructionOf(state)
      const { sub_agents: _, workflow: _workflow, ...params } = state.params
      const request = {
        text: [inputText, instruction].filter((text) => text.trim() !== '').join('\n\n'),
        instruction,
        params,
        input: target.vars ?? input,
        stdin: target.stdin,
      }
      return runWorkflow({ workflow, target, settings, request, filesOf, filesIn }, context)
    },
  },
  ensemble: {
    agents({ members, aggregator }) {
      const named = members.flatMap(({ index, agent, model }) =>
        agent === undefined
          ? []
          : [{ name: agent, options: defined({ model }), path: ['ensemble', 'agents', index, 'agent'] }],
      )
      const last = aggregator === undefined ? [] : [{ name: aggregator, options: {}, path: ['ensemble', 'aggregator'] }]
      return [...named, ...last]
    },
    models({ members, model: own }) {
      const named = members.flatMap(({ index, model, agent, line }) =>
        model === undefined || agent !== undefined || line !== undefined
          ? []
          : [{ name: model, path: ['ensemble', 'agents', index, 'model'] }],
      )
      return own === undefined ? named : [...named, { name: own, path: ['ensemble', 'model'] }]
    },
    check: async (_table, { spec, output }) => (await import('./ensemble/load.ts')).checkEnsembleFits(spec, output),
    asksMain: ({ aggregate, model }) => aggregate === 'synthesis' && model === undefined,
    readsInput: ({ members, aggregator }) =>
      members.some(({ agent, line }) => agent !== undefined || line !== undefined) || aggregator !== undefined,
    answer: async (ensemble, task, context) =>
      (await import('./ensemble/run.ts')).runEnsemble({ ensemble, ...task }, context),
  },
  delegate: {
    agents: ({ workers }) =>
      workers.flatMap(({ agent, index }) =>
        index === undefined ? [] : [{ name: agent, options: {}, path: ['delegate', 'workers', index] }],
      ),
    models: () => [],
    check: async (_table, { spec }) => (await import('./delegate/load.ts')).checkDelegateFits(spec),
    oneTask: { why: 'the leader creates the items', hint: 'Say in the prompt what the team is to work on.' },
    readsInput: () => true,
    answer: async (delegate, task, context) =>
      (await import('./delegate/run.ts')).runDelegate({ delegate, ...task }, context),
  },
}

/** A strategy with the table of a file. */
export interface ChosenStrategy extends Pick<Strategy<never>, 'oneTask' | 'hasSteps'> {
  readonly key: StrategyKey
  readonly agents: readonly StepAgent[]
  readonly models: readonly NamedModel[]
  readonly check: (spec: RunSpec, output: OutputSchema | undefined) => Promise<void>
  readonly problems: (options: CheckOptions) => Promise<readonly BatonError[]>
  readonly asksMain: boolean | undefined
  readonly readsInput: boolean
  readonly answer: (task: StrategyTask, context: RunContext) => Promise<TaskAnswer>
  readonly outline: (task: Pick<StrategyTask, 'target' | 'state'>) => Promise<readonly OutlinedAnswer[] | undefined>
}

/** The strategy of a file; undefined: one agent or model answers. */
export function strategyOf(settings: Partial<StrategyTables>): ChosenStrategy | undefined {
  return strategyKeys.map((key) => chosen(key, settings)).find((one) => one !== undefined)
}

function chosen<Key extends StrategyKey>(key: Key, settings: Partial<StrategyTables>): ChosenStrategy | undefined {
  const table: StrategyTables[Key] | undefined = settings[key]
  if (table === undefined) return undefined
  const row: Strategy<StrategyTables[Key]> = strategies[key]
  const { oneTask, hasSteps } = row
  return {
    key,
    ...defined({ oneTask, hasSteps }),
    agents: row.agents(table),
    models: row.models(table),
    check: async (spec, output) => row.check?.(table, { spec, output }),
    problems: async (options) => (await row.problems?.(table, options)) ?? [],
    asksMain: row.asksMain?.(table),
    readsInput: row.readsInput(table),
    answer: (task, context) => row.answer(table, task, context),
    outline: async (task) => row.outline?.(table, task),
  }
}

/** @throws BatonError for the first error in the table of the strategy of a file, and for what conflicts with the rest */
export async function checkStrategy(spec: RunSpec, output: OutputSchema | undefined): Promise<void> {
  const { document, settings } = spec
  const strategy = strategyOf(settings)
  if (strategy === undefined) return
  const { createOneCompiler } = await import('./one-compiler.ts')
  const compiler = createOneCompiler(settings.lua)
  try {
    const [first] = await strategy.problems({ document, compiler: compiler.open })
    if (first !== undefined) throw first
  } finally {
    await compiler.close()
  }
  await strategy.check(spec, output)
}
