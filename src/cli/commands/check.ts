import { join } from 'node:path'
import { BatonError, isBatonError } from '../../base/error.ts'
import { issuesOf } from '../../config/issue.ts'
import { errorInfo } from '../../event/error-info.ts'
import { exitCodeOf } from '../../event/exit-code.ts'
import { packageRoot } from '../../package-root.ts'
import { createPaint } from '../../render/style.ts'
import { loadTarget } from '../../run/target.ts'
import { checkScripts, scriptWarnings } from '../../script-check.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { CheckFlags } from '../options.ts'
import { describeError } from '../report.ts'

/** `baton check FILE...`: says everything that is wrong before anything runs; the exit code is that of the first. */
export async function checkCommand(flags: CheckFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const paint = createPaint({ env, isTerminal: io.outIsTerminal })
  let exitCode = 0
  for (const file of flags.files) {
    const { errors, warnings } = await checkFile(file, { cwd, env, home: io.home, overrides: flags.config })
    if (exitCode === 0 && errors[0] !== undefined) exitCode = exitCodeOf(errors[0])
    if (flags.json) {
      io.out(`${JSON.stringify({ file, ok: errors.length === 0, errors: errors.map(errorInfo), warnings })}\n`)
      continue
    }
    for (const error of errors) io.out(describeError(error, { cwd, paint }))
    for (const warning of warnings) io.out(`${paint('yellow', 'warning')}: ${warning}\n`)
    if (errors.length === 0 && flags.level !== 'quiet') io.out(`${paint('green', 'ok')} ${file}\n`)
  }
  return exitCode
}

interface CheckOptions {
  readonly cwd: string
  readonly env: CommandIo['env']
  readonly home: string
  readonly overrides: readonly string[]
}

interface Checked {
  readonly errors: readonly BatonError[]
  readonly warnings: readonly string[]
}

async function checkFile(file: string, options: CheckOptions): Promise<Checked> {
  try {
    const { overrides, ...around } = options
    const target = await loadTarget({
      ...around,
      file,
      flags: { overrides },
      builtInDir: join(packageRoot(), 'agents'),
    })
    const errors = await checkScripts(target.agents, target.settings.lua, target.workspace)
    const notes = target.kind === 'prompt' ? [...target.spec.warnings, ...target.spec.notes] : target.notes
    return { errors, warnings: errors.length > 0 ? notes : [...notes, ...(await scriptWarnings(target.agents))] }
  } catch (error) {
    if (!isBatonError(error)) throw error
    return { errors: everyIssue(error), warnings: [] }
  }
}

function everyIssue(error: BatonError): readonly BatonError[] {
  return issuesOf(error).map(({ code, message, ...details }) => new BatonError(code, message, details))
}
