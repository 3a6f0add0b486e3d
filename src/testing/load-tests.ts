import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isFile, isFolder } from '../base/entries.ts'
import { readRegularFile } from '../base/regular-file.ts'
import type { DataPath, DataText } from '../base/data-text.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import { isInside, readSourceFile, realPath } from '../base/files.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { variableFlags } from '../config/input-variables.ts'
import { findWorkspace } from '../config/locate.ts'
import { packageRoot } from '../package-root.ts'
import type { PromptTarget } from '../load/prompt-target.ts'
import { type AgentTarget, loadTarget, type Target, targetFileOf } from '../load/target.ts'
import type { Surroundings } from '../wiring/conduct.ts'
import type { Expectation, TestEntry } from '../settings/tests.ts'
import { strategies } from '../strategies/strategies.ts'
import { checkValue } from '../config/check-settings.ts'
import { readTomlFile } from '../base/toml.ts'
import { placeFindings, throwIssues, wrongKey } from '../settings/issue.ts'
import { parseAip, readTable } from '../prompt/aip.ts'

export interface LoadTestsOptions extends Pick<Surroundings, 'env' | 'home'> {
  readonly cwd: string
  /** `-c key=value`. */
  readonly overrides: readonly string[]
}

/** A prompt file or an agent with its tests. Paths are absolute. */
export interface TestedFile {
  readonly file: string
  /** The workspace of the file, regardless of the current folder. */
  readonly workspace: string
  readonly tests: readonly TestCase[]
  /** Files and folders of the workspace that each test needs in addition to its own files. */
  readonly needed: readonly string[]
}

export interface TestCase {
  readonly name: string
  /** Where its `name` is written. */
  readonly place: SourcePlace
  /** `name=value`, as for `--var`. */
  readonly vars: readonly string[]
  /** Merged over `[params]`. */
  readonly params: JsonObject
  /** At most one input: text, or any JSON for an agent. */
  readonly inputs: readonly Json[]
  /** The model for `judge` expectations; undefined: the model of the tested file. */
  readonly judgeModel: string | undefined
  /** Globs, or contents by path; paths are relative to the workspace. */
  readonly files: readonly string[] | Readonly<Record<string, string>>
  /** Absolute. Undefined: no model, command or HTTP request is allowed. */
  readonly cassette: string | undefined
  readonly expect: readonly Expectation[]
  readonly placeOf: (path: DataPath) => Promise<SourcePlace>
}

/**
 * Loads and checks a prompt file or an agent, and reads its tests, if any.
 * @throws BatonError for every error that is found before a run can start, OUTSIDE_WORKSPACE for a cassette that is not
 * in the workspace, USAGE for a file that is not in the workspace
 */
export async function loadTests(name: string, { cwd, env, home, overrides }: LoadTestsOptions): Promise<TestedFile> {
  const builtInDir = join(packageRoot(), 'agents')
  const given = resolve(cwd, targetFileOf(name, { cwd, env, home, builtInDir }))
  const file = join(realPath(dirname(given)), basename(given))
  const workspace = findWorkspace({ cwd: dirname(file), env, home })
  const files = new Set<string>()
  const reads = readsInto(files)
  const target = await loadTarget({
    file,
    cwd: workspace,
    env,
    home,
    builtInDir,
    strategies,
    reads,
    flags: { overrides },
  })
  const main = target.kind === 'agent' ? target.agent.file : file
  if (!isInside(workspace, main)) {
    throw new BatonError('USAGE', `${name} is not in the workspace ${workspace}: its tests cannot be run here`, {
      hint: 'Name a file of the workspace; baton unpack makes an editable copy of a pack.',
    })
  }
  const written = target.kind === 'agent' ? await readAgentTests(target) : testsOfPrompt(target)
  const own = { file: main, workspace, placeOf: written.placeOf }
  const tests = await Promise.all(written.entries.map((entry, index) => testCase(entry, index, own)))
  return { file: main, workspace, tests, needed: neededFiles(main, target, { files, builtInDir }) }
}

/** Whether to load a file of a folder. Files without tests are skipped, so that their errors are not reported. */
export function mayHaveTests(file: string): boolean {
  if (file.endsWith('.lua')) return isFile(testFileOf(file))
  return /^\s*\[\[\s*test\s*\]\]|^test\s*[:=]/m.test(readRegularFile(file).toString('utf8'))
}

function testsOfPrompt({ spec, placeOf }: PromptTarget): WrittenTests {
  return {
    // already checked against the schema when it was loaded
    entries: (spec.frontMatter['test'] ?? []) as unknown as readonly TestEntry[],
    placeOf: async (...at) => ({ ...(await placeOf(...at)), file: spec.file }),
  }
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
  { file, workspace, placeOf }: Pick<TestedFile, 'file' | 'workspace'> & Pick<WrittenTests, 'placeOf'>,
): Promise<TestCase> {
  const { name, vars = {}, params = {}, input, files = [], expect = [], judge_model: judgeModel } = entry
  const at = (path: DataPath): Promise<SourcePlace> => placeOf(['test', index, ...path])
  const cassette = entry.cassette === undefined ? undefined : resolve(dirname(file), entry.cassette)
  if (cassette !== undefined && !isInside(workspace, realPath(cassette))) {
    throw new BatonError('OUTSIDE_WORKSPACE', `the cassette ${entry.cassette} is outside the workspace`, {
      place: await at(['cassette']),
      hint: `Name a file below ${workspace}, relative to the prompt file.`,
    })
  }
  return {
    name,
    place: await at(['name']),
    vars: variableFlags(vars as JsonObject),
    params: params as JsonObject,
    inputs: input === undefined ? [] : [input as Json],
    files,
    cassette,
    expect,
    judgeModel,
    placeOf: at,
  }
}

/**
 * Files and folders of the workspace that a copy needs to run the prompt file: everything that was read to load it (the
 * file itself, agents, config, schemas), and what scripts may load at run time: the pack of an agent, or, for an agent
 * that is a single file, the scripts next to it and the `lua` folder. Paths are absolute.
 */
function neededFiles(
  main: string,
  { workspace, agents }: Target,
  { files, builtInDir }: { readonly files: ReadonlySet<string>; readonly builtInDir: string },
): readonly string[] {
  const beside = agents.flatMap(({ builtIn, pack, file }) => {
    if (builtIn) return []
    return pack === undefined ? scriptsBeside(dirname(file)) : [pack.dir]
  })
  const all = new Set([main, ...[...files].filter(isFile), ...beside])
  return [...all].filter((path) => isInside(workspace, path) && !isInside(builtInDir, path))
}

function scriptsBeside(folder: string): readonly string[] {
  const scripts = readdirSync(folder).filter((name) => /\.(?:aip|lua)$/.test(name))
  return [...scripts.map((name) => join(folder, name)).filter(isFile), ...[join(folder, 'lua')].filter(isFolder)]
}

/** The tests of a prompt file or an agent, as written. */
interface WrittenTests {
  readonly entries: readonly TestEntry[]
  /** Position of a value in the source. */
  readonly placeOf: (...at: Parameters<DataText['locate']>) => Promise<SourcePlace>
}

/** The test file next to a Lua agent: `lint.test.toml` for `lint.lua`. */
function testFileOf(agent: string): string {
  return agent.replace(/\.[^./]+$/, '.test.toml')
}

/**
 * The tests of an agent: `[[test]]` in `# Options` of an `.aip` file, or the test file next to a `.lua` file.
 * @throws BatonError PROMPT_SYNTAX, CONFIG_INVALID
 */
async function readAgentTests({ agent }: Pick<AgentTarget, 'agent'>): Promise<WrittenTests> {
  const source = await sourceOf(agent)
  if (source === undefined) return { entries: [], placeOf: async () => ({ file: agent.file }) }
  const { file, text, data, locate } = source
  const tests = data['test'] ?? []
  const misplaced = ['vars', 'params'].flatMap((key) =>
    (Array.isArray(tests) ? tests : []).flatMap((test: unknown, index) =>
      typeof test === 'object' && test !== null && key in test
        ? [wrongKey(['test', index, key], { message: `"${key}" is for prompt files`, hint: 'Use input for an agent.' })]
        : [],
    ),
  )
  throwIssues(await placeFindings([...checkValue('test', tests), ...misplaced], { file, text, locate }))
  return {
    entries: tests as unknown as readonly TestEntry[],
    placeOf: async (...at) => ({ file, text, ...(await locate(...at)) }),
  }
}

async function sourceOf({ kind, file, text }: AgentTarget['agent']) {
  if (kind === 'aip') {
    const { options } = parseAip(file, text)
    return options === undefined ? undefined : { file, text, ...(await readTable(file, text, options)) }
  }
  const beside = testFileOf(file)
  return existsSync(beside) ? readTomlFile(beside, readSourceFile(beside)) : undefined
}
