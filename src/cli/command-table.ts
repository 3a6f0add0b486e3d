import type { BatonError } from '../base/error.ts'
import { nearest } from '../base/suggest.ts'
import { type CommandName, commandSpecs, type Flags } from './command-specs.ts'
import { type Command, commandArguments, usageError } from './command.ts'
import type { CommandIo } from './io.ts'

/** Each command is loaded when it runs. */
const runs: { readonly [Name in CommandName]: (flags: Flags<Name>, io: CommandIo) => Promise<number> } = {
  async run(flags, io) {
    const { file, prompt, replay } = flags
    if (file === undefined && prompt === undefined && replay === undefined) throw nothingNamed('run, or a command')
    if (replay !== undefined) return (await import('./commands/replay.ts')).replayCommand(flags, replay, io)
    return (await import('./commands/run.ts')).runCommand(flags, io)
  },
  chat: async (flags, io) => (await import('./commands/chat.ts')).chatCommand(flags, io),
  resume: async (flags, io) => (await import('./commands/resume.ts')).resumeCommand(flags, io),
  approve: async (flags, io) => (await import('./commands/approve.ts')).approveCommand(flags, io),
  reject: async (flags, io) => (await import('./commands/approve.ts')).rejectCommand(flags, io),
  runs: async (flags, io) => (await import('./commands/runs.ts')).runsCommand(flags, io),
  report: async (flags, io) => (await import('./commands/report.ts')).reportCommand(flags, io),
  apply: async (flags, io) => (await import('./commands/apply.ts')).applyCommand(flags, io),
  undo: async (flags, io) => (await import('./commands/undo.ts')).undoCommand(flags, io),
  check: async (flags, io) => (await import('./commands/check.ts')).checkCommand(flags, io),
  test: async (flags, io) => (await import('./commands/test.ts')).testCommand(flags, io),
  async plan(flags, io) {
    if (flags.file === undefined && flags.prompt === undefined) throw nothingNamed('plan')
    return (await import('./commands/plan.ts')).planCommand(flags, io)
  },
  new: async (flags, io) => (await import('./commands/new.ts')).newCommand(flags, io),
  init: async (flags, io) => (await import('./commands/new.ts')).initCommand(flags, io),
  list: async (flags, io) => (await import('./commands/list.ts')).listCommand(flags, io),
  models: async (flags, io) => (await import('./commands/models.ts')).modelsCommand(flags, io),
  install: async (flags, io) => (await import('./commands/install.ts')).installCommand(flags, io),
  pack: async (flags, io) => (await import('./commands/pack.ts')).packCommand(flags, io),
  unpack: async (flags, io) => (await import('./commands/pack.ts')).unpackCommand(flags, io),
  trust: async (flags, io) => (await import('./commands/trust.ts')).trustCommand(flags, io),
  config: async (flags, io) => (await import('./commands/config.ts')).configCommand(flags, io),
  mcp: async (flags, io) => (await import('./commands/mcp.ts')).mcpCommand(flags, io),
  serve: async (flags, io) => (await import('./commands/serve.ts')).serveCommand(flags, io),
  notify: async (flags, io) => (await import('./commands/notify.ts')).notifyCommand(flags, io),
  schema: async (flags, io) => (await import('./commands/schema.ts')).schemaCommand(flags, io),
  doctor: async (flags, io) => (await import('./commands/doctor.ts')).doctorCommand(flags, io),
  async help({ command }, io) {
    const names = commandTable.map(({ name }) => name)
    if (command !== undefined && !names.includes(command)) {
      const meant = nearest(command, names)
      const hint = `${meant === undefined ? '' : `Did you mean baton help ${meant}? `}See baton --help.`
      throw usageError(`there is no command ${command}`, hint)
    }
    const { parseLine } = await import('./yargs.ts')
    const help = parseLine([...(command === undefined ? [] : [command]), '--help'], io)
    if (help.kind === 'text') io.out(`${help.text}\n`)
    return 0
  },
  completion: async (flags, io) => (await import('./commands/completion.ts')).completionCommand(flags, io),
}

/** Every command of `baton`. */
export const commandTable: readonly Command[] = (Object.keys(commandSpecs) as CommandName[]).map(commandOf)

/** The command if none is named. */
export const defaultCommand: Command = commandOf('run')

function commandOf<Name extends CommandName>(name: Name): Command {
  const spec = commandSpecs[name]
  return { name, ...spec, run: (line, io) => runs[name](commandArguments(spec, line), io) }
}

function nothingNamed(what: string): BatonError {
  return usageError(`name a file to ${what}`, `See baton${what === 'plan' ? ' plan' : ''} --help.`)
}
