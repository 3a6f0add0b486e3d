import { resolve } from 'node:path'
import { shellWord } from '../base/command.ts'
import { isBatonError } from '../base/error.ts'
import { type ParsedLine, usageError } from './command.ts'
import type { CommandIo } from './io.ts'
import { parseLine } from './yargs.ts'

/**
 * Runs the command that the command line names and returns its exit code. Commands are loaded when they run.
 * @throws BatonError USAGE for invalid flags and arguments
 */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<number> {
  if (args[0] === '__complete') {
    const { completeCommand } = await import('./commands/completion.ts')
    return completeCommand(args.slice(1), io)
  }
  // the process of a run of `baton serve`: src/serve/workers/pool.ts starts it
  if (args[0] === '__worker') return (await import('../serve/workers/worker.ts')).work(io)
  const call = parseLine(args, io)
  if (call.kind === 'command') return call.command.run(call.line, await withEnvFile(call.line, io))
  io.out(`${call.text}\n`)
  return 0
}

/**
 * The process with the variables of `--env FILE`. Variables that are already set take precedence over those of the
 * file; an empty one counts as not set. If the file needs trust and the user can be asked, asks.
 * @throws BatonError FILE_UNREADABLE if the file cannot be read, UNTRUSTED for a file of the workspace that sets more
 * than keys, USAGE for `--env-file`
 */
async function withEnvFile({ flags }: ParsedLine, io: CommandIo): Promise<CommandIo> {
  const { env: file, 'env-file': nodesOwn, chdir } = flags
  if (typeof nodesOwn === 'string') throw readByNode(nodesOwn)
  if (typeof file !== 'string') return io
  const cwd = typeof chdir === 'string' ? resolve(io.cwd, chdir) : io.cwd
  const around = { cwd, env: io.env, home: io.home }
  const { readEnvFile } = await import('../config/env-file.ts')
  for (;;) {
    try {
      const set = Object.fromEntries(Object.entries(io.env).filter(([, value]) => value))
      return { ...io, env: { ...io.env, ...readEnvFile(file, io.cwd, around), ...set } }
    } catch (error) {
      if (!isBatonError(error) || error.code !== 'UNTRUSTED') throw error
      const { askForTrust } = await import('./commands/trust.ts')
      const mayAsk = {
        noInput: flags['no-input'] === true,
        json: flags['json'] === true,
        unattended: flags['unattended'] === true,
      }
      if (!(await askForTrust(error, { flags: mayAsk, around: { ...around, cwd: io.cwd } }, io))) throw error
    }
  }
}

/** Node takes this flag for its own wherever it appears, and has already read the file. */
function readByNode(file: string): Error {
  const hint = `Use --env ${shellWord(file)}. Node has already applied NODE_OPTIONS from that file.`
  return usageError('--env-file is an option of Node itself, which reads the file before Baton starts', hint)
}
