import { basename, dirname, join, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import { realPath } from '../base/files.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import { findWorkspace } from '../config/locate.ts'
import { packageRoot } from '../package-root.ts'
import { loadTarget } from '../run/target.ts'
import { type TestCase, testCases } from './case.ts'
import { createFileLog, neededFiles } from './needed-files.ts'

export interface LoadTestsOptions extends Pick<Surroundings, 'env' | 'home'> {
  readonly cwd: string
  /** `-c key=value`. */
  readonly overrides: readonly string[]
}

/** A prompt file with its tests. Paths are absolute. */
export interface TestedFile {
  readonly file: string
  /** That of the prompt file, wherever the command is run. */
  readonly workspace: string
  readonly tests: readonly TestCase[]
  /** What of the workspace each test needs besides its own files. */
  readonly needed: readonly string[]
}

/**
 * Loads and checks a prompt file, and reads its tests.
 * @throws BatonError for everything that is wrong before a run can start, USAGE for what is no prompt file or has no test
 */
export async function loadTests(name: string, { cwd, env, home, overrides }: LoadTestsOptions): Promise<TestedFile> {
  const given = resolve(cwd, name)
  const file = join(realPath(dirname(given)), basename(given))
  const log = createFileLog()
  const builtInDir = join(packageRoot(), 'agents')
  const workspace = findWorkspace({ cwd: dirname(file), home })
  const target = await loadTarget({
    file,
    cwd: workspace,
    env,
    home,
    builtInDir,
    reads: log.reads,
    flags: { overrides },
  })
  if (target.kind === 'agent') {
    throw new BatonError('USAGE', `${name} is an agent, and tests are in prompt files`, {
      hint: 'Write a prompt file that names the agent, with [[test]] in its front matter.',
    })
  }
  const tests = await testCases(target)
  if (tests.length === 0) {
    throw new BatonError('USAGE', `${name} has no test`, {
      hint: 'Add one to its front matter: [[test]] with name = "…". See docs/testing.md.',
      place: { file },
    })
  }
  return { file, workspace, tests, needed: neededFiles(target, { files: log.files(), builtInDir }) }
}
