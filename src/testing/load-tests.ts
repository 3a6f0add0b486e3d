import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import type { JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { findWorkspace } from '../config/locate.ts'
import { packageRoot } from '../package-root.ts'
import type { PromptTarget } from '../run/prompt-target.ts'
import { loadTarget } from '../run/target.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import type { Expectation, TestEntry } from '../config/schema.ts'

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
  /** Files and folders of the workspace that each test needs besides its own files. */
  readonly needed: readonly string[]
}

/** One `[[test]]` of a prompt file. */
export interface TestCase {
  readonly name: string
  /** Where its `name` is written. */
  readonly place: SourcePlace
  /** `name=value`, as `--var` takes them. */
  readonly vars: readonly string[]
  /** Merged over `[params]`. */
  readonly params: JsonObject
  /** Globs, or contents by path; relative to the workspace. */
  readonly files: readonly string[] | Readonly<Record<string, string>>
  /** Absolute. Undefined: no model, command or HTTP request is allowed. */
  readonly cassette: string | undefined
  readonly expect: readonly Expectation[]
  readonly placeOf: (path: DataPath) => Promise<SourcePlace>
}

/**
 * Loads and checks a prompt file, and reads its tests.
 * @throws BatonError for everything that is wrong before a run can start, OUTSIDE_WORKSPACE for a cassette that is not in
 * the workspace, USAGE for what is not a prompt file or has no test
 */
export async function loadTests(name: string, { cwd, env, home, overrides }: LoadTestsOptions): Promise<TestedFile> {
  const given = resolve(cwd, name)
  const file = join(realPath(dirname(given)), basename(given))
  const builtInDir = join(packageRoot(), 'agents')
  const workspace = findWorkspace({ cwd: dirname(file), home })
  const files = new Set<string>()
  const reads = readsInto(files)
  const target = await loadTarget({ file, cwd: workspace, env, home, builtInDir, reads, flags: { overrides } })
  if (target.kind === 'agent') {
    throw new BatonError('USAGE', `${name} is an agent, and tests are in prompt files`, {
      hint: 'Write a prompt file that names the agent, with [[test]] in its front matter.',
    })
  }
  // the schema has checked what is loaded
  const entries = (target.spec.frontMatter['test'] ?? []) as unknown as readonly TestEntry[]
  if (entries.length === 0) {
    throw new BatonError('USAGE', `${name} has no test`, {
      hint: 'Add one to its front matter: [[test]] with name = "…". See docs/testing.md.',
      place: { file },
    })
  }
  const tests = await Promise.all(entries.map((entry, index) => testCase(entry, index, target)))
  return { file, workspace, tests, needed: neededFiles(target, { files, builtInDir }) }
}

function readsInto(files: Set<string>): ReadLog {
  const note = (path: string): void => void files.add(path)
  return {
    file: note,
    prompt: note,
    list: () => undefined,
    sources: {
      stored: () => undefined,
      found: (path, { kind }) => (kind === 'file' ? note(path) : undefined),
    },
  }
}

async function testCase(
  entry: TestEntry,
  index: number,
  { spec, workspace, placeOf }: PromptTarget,
): Promise<TestCase> {
  const { name, vars = {}, params = {}, files = [], expect = [] } = entry
  const at = async (path: DataPath): Promise<SourcePlace> => {
    return { ...(await placeOf(['test', index, ...path])), file: spec.file }
  }
  const cassette = entry.cassette === undefined ? undefined : resolve(dirname(spec.file), entry.cassette)
  if (cassette !== undefined && !isInside(workspace, realPath(cassette))) {
    throw new BatonError('OUTSIDE_WORKSPACE', `the cassette ${entry.cassette} is outside the workspace`, {
      place: await at(['cassette']),
      hint: `Name a file below ${workspace}, relative to the prompt file.`,
    })
  }
  return {
    name,
    place: await at(['name']),
    vars: Object.entries(vars).map(([variable, value]) => {
      return `${variable}=${typeof value === 'string' ? value : JSON.stringify(value)}`
    }),
    params: params as JsonObject,
    files,
    cassette,
    expect,
    placeOf: at,
  }
}

/**
 * Files and folders of the workspace that a copy needs to run the prompt file: those that loading has read (the file
 * itself, agents, config, schemas), and what scripts load when they run: the pack of an agent; of an agent that is a
 * file the scripts beside it and its `lua` folder. Absolute.
 */
function neededFiles(
  { workspace, spec, agents }: PromptTarget,
  { files, builtInDir }: { readonly files: ReadonlySet<string>; readonly builtInDir: string },
): readonly string[] {
  const beside = agents.flatMap(({ builtIn, pack, file }) => {
    if (builtIn) return []
    return pack === undefined ? scriptsBeside(dirname(file)) : [pack.dir]
  })
  const all = new Set([spec.file, ...[...files].filter(isFile), ...beside])
  return [...all].filter((path) => isInside(workspace, path) && !isInside(builtInDir, path))
}

function scriptsBeside(folder: string): readonly string[] {
  const scripts = readdirSync(folder).filter((name) => /\.(?:aip|lua)$/.test(name))
  return [...scripts.map((name) => join(folder, name)).filter(isFile), ...[join(folder, 'lua')].filter(isFolder)]
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
