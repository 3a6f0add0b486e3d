import { BatonError } from '../../base/error.ts'
import { commandEnvironment } from '../../base/command.ts'
import type { ProcessEnd, ProcessResult } from '../../base/process.ts'
import { emit } from '../../event/context.ts'
import { passesVariable } from '../../event/permission.ts'
import { readablePath } from '../../tool/guard.ts'
import { statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import type { ActCall } from './call.ts'
import { type HostModule, waiting } from './module.ts'

const timeLimitMs = 30 * 60_000
const maxOutputBytes = 16 * 1024 * 1024

/**
 * `aip.cmd`. A command runs as the user, without a shell and without input, in its own process group, with part of the
 * environment. Baton's extension to AIPack: the option `timeout_ms` (30 minutes).
 */
export const cmdModule: HostModule = {
  name: 'aip.cmd',
  functions: {
    /**
     * `aip.cmd.exec(command, args?, {cwd?, timeout_ms?}?) → {stdout, stderr, exit}`
     * Runs a program without a shell and without input, and waits for it; `args` is one string or a list. An exit code
     * other than 0 is not an error; -1 means that a signal ended the program. It is an error if the program cannot be
     * started or takes longer than `timeout_ms` (30 minutes). The program gets no API keys from the environment.
     */
    exec: waiting(async (call) => execute(readCommand(call), call)),
  },
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly timeLimitMs: number
}

function readCommand(call: ActCall): Command {
  const options = call.options(2)
  const command = call.text(0, 'the command')
  if (command.trim() === '') throw call.error('the command is empty')
  const args = call.has(1) ? call.textList(1, 'the arguments') : []
  if ([command, ...args].some((part) => part.includes('\0'))) {
    throw call.error('a command cannot contain a NUL character')
  }
  const limit = options.milliseconds('timeout_ms') ?? timeLimitMs
  return { command, args, cwd: folderOf(options.path('cwd'), call), timeLimitMs: limit }
}

/** The folder of a command: the option `cwd`, otherwise the folder in which the run was started. */
function folderOf(cwd: string | undefined, call: ActCall): string {
  if (cwd === undefined || cwd.trim() === '') return call.context.scope.folders.cwd
  const real = readablePath(call.resolve(cwd), call.context)
  if (call.observeBefore(() => statusAt(real)?.kind === 'folder')) return real
  throw call.error(`the option cwd must be a folder, but ${cwd} is not one`)
}

async function execute(command: Command, call: ActCall): Promise<LuaValue> {
  const { context, name } = call
  const { scope, services } = context
  const action = { kind: 'command', program: command.command, caller: name } as const
  const request = { command: command.command, args: command.args, cwd: call.shown(command.cwd) }
  const { lost, ...result } = await services.effects.perform(
    call.at,
    { kind: 'command', request, action, repeat: 'unsafe', assumed: { stdout: '', stderr: '', exit: 0, lost: 0 } },
    async (stop, { process }) => {
      const { runProcess } = await import('../../base/process.ts')
      const environment = commandEnvironment(services.env, (variable) => passesVariable(scope.rights, variable))
      const signal = AbortSignal.any([stop, services.signal])
      const run = { ...command, environment, maxOutputBytes, onStart: process }
      if (scope.rights.sandbox?.scripts !== true) return outcomeOf(await runProcess(run, signal), command, name)
      const { runBoxed } = await import('../../tool/sandbox/run-boxed.ts')
      return outcomeOf(await runBoxed(run, context, signal), command, name)
    },
  )
  if (lost > 0) {
    emit(context, {
      type: 'warning',
      message: `${name}: ${command.command} printed too much; ${lost} bytes were discarded`,
      hint: 'Let the command write to a file, and read the part you need.',
    })
  }
  return result
}

function outcomeOf({ end, stdout, stderr }: ProcessResult, command: Command, name: string) {
  const exit = exitCode(end, command, name)
  return { stdout: stdout.text, stderr: stderr.text, exit, lost: stdout.lost + stderr.lost }
}

function exitCode(end: ProcessEnd, { command, timeLimitMs: limit }: Command, name: string): number {
  switch (end.kind) {
    case 'exited':
      return end.code
    case 'killed':
      return -1
    case 'timed_out':
      throw new BatonError('LIMIT', `${name}: ${command} was stopped because it took longer than ${limit / 1000} s`, {
        hint: 'Raise the limit with the option timeout_ms.',
      })
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `${name}: ${command} cannot be run: ${end.reason}`, {
        hint: 'Check that the program is installed and found in PATH; it is run without a shell.',
      })
  }
}
