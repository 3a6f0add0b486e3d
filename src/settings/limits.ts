import { down, frameTable, free, type KeyRows, type SettingRow } from './setting.ts'

export const retry = {
  ...frameTable,
  isLimit: true,
  text: 'How often a failed model call is retried, and after which waits.',
  keys: {
    max_attempts: {
      schema: ({ integer }) => integer(1, 100),
      order: down,
      initial: 3,
      text: 'Calls in total, including the first.',
    },
    initial_backoff_ms: {
      schema: ({ integer }) => integer(0),
      order: free,
      initial: 100,
      text: 'The first wait, in milliseconds.',
    },
    max_backoff_ms: {
      schema: ({ integer }) => integer(0),
      order: down,
      initial: 10_000,
      text: 'The longest wait, in milliseconds.',
    },
    backoff_multiplier: {
      schema: ({ number }) => number(1, 100),
      order: free,
      initial: 2,
      text: 'The factor by which each wait is longer than the previous one.',
    },
    jitter_factor: {
      schema: ({ number }) => number(0, 1),
      order: free,
      initial: 0.5,
      text: 'The fraction of a wait that is random.',
    },
    patience: {
      schema: ({ duration }) => duration,
      order: { rule: 'down', unset: '10m' },
      text: 'The total time to wait for a host that fails or is overloaded.',
    },
  },
} as const satisfies SettingRow

export const timeouts = {
  ...frameTable,
  isLimit: true,
  text: 'Time limits of models, agents and approvals. Durations are texts such as "30s" or "10m".',
  keys: {
    connect: {
      schema: ({ timeLimit }) => timeLimit,
      order: down,
      initial: '10s',
      text: 'Time until the connection is open.',
    },
    headers: {
      schema: ({ timeLimit }) => timeLimit,
      order: down,
      initial: '30s',
      text: 'Time until the answer starts.',
    },
    stream_idle: {
      schema: ({ timeLimit }) => timeLimit,
      order: down,
      initial: '5m',
      text: 'Time between two pieces of the answer; pieces without content do not count.',
    },
    request: { schema: ({ timeLimit }) => timeLimit, order: down, initial: '1h', text: 'Total time of one call.' },
    agent: {
      schema: ({ timeLimit }) => timeLimit,
      order: down,
      text: 'Default for each agent without its own timeout: sub-agents, steps, agents of scripts, and the model of each task.',
    },
    approval: {
      schema: ({ timeLimit }) => timeLimit,
      order: down,
      text: 'Time in which the user must answer a question, counted from when it was first asked; after that the answer is no.',
    },
    batch: {
      schema: ({ duration }) => duration,
      order: down,
      text: 'How long a run waits for a batch before it is suspended. Default: 25h.',
    },
    gate: { schema: ({ timeLimit }) => timeLimit, order: down, text: 'The command of gate. Default: 10m.' },
  },
} as const satisfies SettingRow

/** Limits of a day or a month. */
const periodKeys = {
  max_cost: { schema: ({ number }) => number(0, 1e9), text: 'US dollars, for all your runs.' },
  workspace_max_cost: { schema: ({ number }) => number(0, 1e9), text: 'US dollars, for the runs of a workspace.' },
} as const satisfies KeyRows

export const budget = {
  ...frameTable,
  isLimit: true,
  isPlain: true,
  text: 'Limits of the whole run.',
  keys: {
    usd: { schema: ({ number }) => number(0, 1e9), order: down, text: 'US dollars.' },
    tokens: { schema: ({ integer }) => integer(1), order: down, text: 'Tokens, input and output.' },
    calls: { schema: ({ integer }) => integer(1), order: down, text: 'Model calls.' },
    unpriced: {
      schema: ({ oneOf }) => oneOf('deny', 'allow'),
      order: { rule: ['deny', 'allow'], prompt: { defaultWith: 'budget.usd' } },
      initial: 'deny',
      text: 'Whether a model without a known price may be used with a limit in dollars.',
    },
    day: { order: down, text: 'Limits of all runs of a day.', keys: periodKeys },
    month: { order: down, text: 'Limits of all runs of a month.', keys: periodKeys },
  },
} as const satisfies SettingRow
