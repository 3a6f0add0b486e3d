import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { commandEnvironment } from '../../base/process-environment.ts'
import type { ProcessEnd, ProcessResult } from '../../base/process.ts'
import { emit } from '../../event/context.ts'
import type { Place } from '../../event/effects.ts'
import { guard, notGranted } from '../../tool/guard.ts'
import { statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, optionsTable, textList, textOption, text } from './arguments.ts'
import type { HostModule, Section } from './module.ts'
import { sectionPath } from './section-path.ts'
import { millisecondsOption } from './time-limit.ts'

const name = 'aip.cmd.exec'
const timeLimitMs = 30 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

/**
 * `aip.cmd` (spec/aipack.md 6.2). A command runs as the user, without a shell and without input, in a process group of
 * its own, with a part of the environment (DESIGN 9). Ours beyond AIPack: the option `timeout_ms` (30 minutes).
 */
export const cmdModule: HostModule = {
  name: 'aip.cmd',
  functions: {
    /**
     * `aip.cmd.exec(command, args?, {cwd?, timeout_ms?}?) → {stdout, stderr, exit}`
     * Runs a program without a shell and without input, and waits for it; `args` is one string or a list. An exit code
     * other than 0 is no error, and -1 stands for a signal. A program that cannot be started is an error, and so is one
     * that takes longer than `timeout_ms` (30 minutes). It gets no keys from the environment.
     */
    exec: {
      effect: 'act',
      call: async (args, section, at) => [await execute(readCommand(args, section), section, at)],
    },
  },
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly timeLimitMs: number
}

function readCommand([command, args, given]: readonly LuaValue[], section: Section): Command {
  const options = optionsTable(given, name)
  const program = text(command, name, 'the command')
  if (program.trim() === '') throw argumentError(name, 'the command is empty')
  const list = args === undefined || args === null ? [] : textList(args, name, 'the arguments')
  if ([program, ...list].some((part) => part.includes('\0'))) {
    throw argumentError(name, 'a command cannot hold a NUL character')
  }
  const limit = millisecondsOption(options, 'timeout_ms', name) ?? timeLimitMs
  return { command: program, args: list, cwd: folderOf(textOption(options, 'cwd', name), section), timeLimitMs: limit }
}

/** The folder of a command: the option `cwd`, else the one that the run was started in. */
function folderOf(cwd: string | undefined, section: Section): string {
  const { context } = section
  if (cwd === undefined || cwd.trim() === '') return context.surroundings?.cwd ?? context.workspace
  const real = guard('read', sectionPath(cwd, { name, what: 'the option cwd' }, section), context)
  if (statusAt(real)?.kind === 'folder') return real
  throw argumentError(name, `the option cwd must be a folder, and ${cwd} is none`)
}

async function execute(command: Command, section: Section, at: Place): Promise<LuaValue> {
  const { context } = section
  const refused = context.rights?.command(command.command)
  if (refused !== undefined) throw notGranted(name, refused)
  const request = { command: command.command, args: command.args, cwd: displayPath(context.workspace, command.cwd) }
  const { lost, ...result } = await context.effects.perform(
    at,
    { kind: 'command', request, repeat: 'unsafe', assumed: { stdout: '', stderr: '', exit: 0, lost: 0 } },
    async (stop) => {
      const { runProcess } = await import('../../base/process.ts')
      const environment = commandEnvironment(context.surroundings?.env ?? {}, context.rights?.passes)
      const signal = AbortSignal.any([stop, context.signal])
      return outcomeOf(await runProcess({ ...command, environment, maxOutputBytes }, signal), command)
    },
  )
  if (lost > 0) {
    emit(context, {
      type: 'warning',
      message: `${name}: ${command.command} printed too much; ${lost} bytes of it were thrown away`,
      hint: 'Let the command write to a file, and read the part that is needed.',
    })
  }
  return result
}

function outcomeOf({ end, stdout, stderr }: ProcessResult, command: Command) {
  return { stdout: stdout.text, stderr: stderr.text, exit: exitCode(end, command), lost: stdout.lost + stderr.lost }
}

function exitCode(end: ProcessEnd, { command, timeLimitMs: limit }: Command): number {
  switch (end.kind) {
    case 'exited':
      return end.code
    case 'killed':
      return -1
    case 'timed_out':
      throw new BatonError('LIMIT', `${name}: ${command} was stopped, because it took longer than ${limit / 1000} s`, {
        hint: 'Give it more time with the option timeout_ms.',
      })
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `${name}: ${command} cannot be run: ${end.reason}`, {
        hint: 'Check that the program is installed and found in PATH; it is run without a shell.',
      })
  }
}
