import { down, frame, frameTable, free, type SettingRow } from './setting.ts'

/* What a run and its models may do: the rows of these keys. */

export const permission = {
  ...frameTable,
  decides: true,
  schema: ({ either, oneOf, tableOf }) => {
    const effect = oneOf('allow', 'ask', 'deny')
    return tableOf(either([effect, tableOf(effect)], '"allow", "ask", "deny", or a table of them by pattern'))
  },
  order: { rule: 'rules' },
  isPlain: true,
  text: 'What a tool may do: allow, ask or deny, for all of its calls or by patterns.',
} as const satisfies SettingRow

export const sandbox = {
  ...frameTable,
  decides: true,
  isLimit: true,
  text: 'What programs chosen by a model may access: the disk, the network, memory.',
  keys: {
    mode: {
      schema: ({ sandboxMode }) => sandboxMode,
      order: {
        rule: ['read-only', 'workspace-write', 'danger-full-access'],
        unset: 'read-only',
        prompt: { unset: 'workspace-write' },
      },
      text: 'read-only: they change nothing; workspace-write: only files of the workspace; danger-full-access: no sandbox. Default: workspace-write if write_mode is set, else read-only.',
    },
    network: {
      schema: ({ hosts }) => hosts,
      order: { rule: 'fewer', prompt: 'default' },
      initial: [],
      text: 'Hosts that they may reach: "example.com", "*.example.com", "localhost:5432". Default: none.',
    },
    scripts: {
      schema: ({ flag }) => flag,
      order: { rule: [true, false] },
      initial: false,
      text: 'Run the commands of scripts and of [iterate] in the sandbox as well.',
    },
    memory_mb: {
      schema: ({ integer }) => integer(16, 1_000_000),
      order: down,
      initial: 4096,
      text: 'Memory of all programs of a command together, in MiB.',
    },
    processes: {
      schema: ({ integer }) => integer(1, 1_000_000),
      order: down,
      initial: 512,
      text: 'Maximum number of processes of a command at the same time.',
    },
    file_mb: {
      schema: ({ integer }) => integer(1, 1_000_000),
      order: down,
      initial: 2048,
      text: 'The largest file that a command may write, in MiB.',
    },
    tmp_mb: {
      schema: ({ integer }) => integer(1, 1_000_000),
      order: down,
      initial: 1024,
      text: 'The size of the private /tmp of a command, in MiB.',
    },
  },
} as const satisfies SettingRow

export const writeMode = {
  ...frame,
  decides: true,
  schema: ({ flagOr }) => flagOr('ask'),
  order: { rule: [false, 'ask', true], prompt: 'free', isForOthers: true },
  isPlain: true,
  initial: false,
  text: 'Apply the file changes of the answer; "ask" shows each first.',
} as const satisfies SettingRow

export const tools = {
  ...frame,
  decides: true,
  isList: true,
  schema: ({ toolNames }) => toolNames,
  order: free,
  isPlain: true,
  text: 'Tools the model may use: names or patterns.',
} as const satisfies SettingRow

export const disallowedTools = {
  ...frame,
  decides: true,
  isList: true,
  schema: ({ toolNames }) => toolNames,
  order: { rule: 'added' },
  isPlain: true,
  text: 'Tools the model may not use, whatever else allows them.',
} as const satisfies SettingRow
