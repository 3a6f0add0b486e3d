import { join } from 'node:path'
import { checkFile, createCheckParts, type Problem, problemKey } from '../../check/check.ts'
import { createMask, type MaskOptions } from '../../journal/secrets.ts'
import { packageRoot } from '../../package-root.ts'
import { createPaint } from '../../render/style.ts'
import { version } from '../../version.ts'
import { githubLine, jsonLine, sarifLog } from '../check-formats.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { CheckFlags } from '../options.ts'
import { describeReported } from '../report.ts'

/** `baton check FILE...`: says everything that is wrong before anything runs; 2 when there is an error, else 0. */
export async function checkCommand(flags: CheckFlags, io: CommandIo): Promise<number> {
  const around = surroundings(flags, io)
  const { cwd } = around
  // each look at the environment of the process is a call into the system
  const env = { ...around.env }
  const builtInDir = join(packageRoot(), 'agents')
  const writer = createWriter(flags, { ...io, env, cwd })
  const parts = createCheckParts({ builtInDir })
  const said = new Set<string>()
  try {
    for (const file of flags.files) {
      io.signal.throwIfAborted()
      const options = { cwd, env, home: io.home, file, builtInDir, flags: { overrides: flags.config } }
      const { problems, secrets } = await checkFile(options, parts)
      writer.hide(secrets)
      // an agent that several files name is wrong once
      const fresh = problems.filter((problem) => !said.has(problemKey(problem)))
      for (const problem of fresh) said.add(problemKey(problem))
      const isRight = problems.every(({ severity }) => severity === 'warning')
      writer.file(file, { isRight, problems: flags.level === 'quiet' ? fresh.filter(isError) : fresh })
    }
  } finally {
    await parts.close()
  }
  return writer.end(flags.files.length)
}

function isError({ severity }: Problem): boolean {
  return severity === 'error'
}

interface Checked {
  readonly isRight: boolean
  /** Those that were not said before. */
  readonly problems: readonly Problem[]
}

/** Writes what was found, file by file or at the end, and gives the exit code. */
interface Writer {
  /** Hides these secrets from here on. */
  readonly hide: (secrets: MaskOptions) => void
  readonly file: (file: string, checked: Checked) => void
  readonly end: (files: number) => number
}

function createWriter(flags: CheckFlags, io: CommandIo): Writer {
  const masks = new Map([['', createMask(io.env)]])
  const out = (text: string): void => io.out([...masks.values()].reduce((shown, mask) => mask.hide(shown), text))
  const counts = { error: 0, warning: 0 }
  let isWrong = false
  const all: Problem[] = []
  const paint = createPaint({ env: io.env, isTerminal: io.outIsTerminal })
  const { cwd } = io

  function write({ isRight, problems }: Checked, file: string): void {
    switch (flags.format) {
      case 'text':
        for (const problem of problems) out(describeReported(problem, { cwd, paint }))
        if (isRight && flags.level !== 'quiet') out(`${paint('green', 'ok')} ${file}\n`)
        if (!isRight && problems.length === 0) out(`${paint('red', 'not ok')} ${file}: what is wrong is said above\n`)
        return
      case 'json':
        for (const problem of problems) out(`${jsonLine(problem)}\n`)
        return
      case 'github':
        for (const problem of problems) out(`${githubLine(problem)}\n`)
        return
      case 'sarif':
        all.push(...problems)
    }
  }

  return {
    hide(secrets) {
      const key = JSON.stringify(secrets)
      if (!masks.has(key)) masks.set(key, createMask(io.env, secrets))
    },
    file(file, checked) {
      isWrong ||= !checked.isRight
      for (const { severity } of checked.problems) counts[severity] += 1
      write(checked, file)
    },
    end(files) {
      if (flags.format === 'sarif') out(`${JSON.stringify(sarifLog(all, { cwd, version }), null, 2)}\n`)
      const hasFindings = counts.error + counts.warning > 0
      if (flags.format === 'text' && hasFindings && flags.level !== 'quiet') out(`${summary(counts, files)}\n`)
      return isWrong ? 2 : 0
    },
  }
}

/** `2 errors, 1 warning in 3 files`. */
function summary({ error, warning }: { readonly error: number; readonly warning: number }, files: number): string {
  const counted = [
    ...(error === 0 ? [] : [count(error, 'error')]),
    ...(warning === 0 ? [] : [count(warning, 'warning')]),
  ]
  return `${counted.join(', ')} in ${count(files, 'file')}`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
