import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openSigningKey } from '../../../src/journal/signing.ts'
import { baton, type BatonResult, inputOf, root } from '../baton.ts'
import { gitIn, makeRepository } from '../git-world.ts'
import { type ModelServer, startModelServer } from '../model-server.ts'
import { signRun } from '../sign-run.ts'
import { writeTree } from '../temp.ts'
import type { WarmCommand } from '../warm-command.ts'
import { type Finished, finishedIn } from './finished.ts'
import { inPlace } from './golden.ts'
import { type Asked, type RunShape, runShapes } from './golden-run-shapes.ts'
import type { Noted } from './journal-state.ts'
import { makeWorldOf, type World } from './scenario.ts'

/** A file as it was at some time. A text, or: */
type Content =
  | string
  | { readonly text?: string; readonly base64?: string; readonly isProgram?: true }
  | { readonly link: string }

/** What had changed in the files when a journal was written up to this length; null: removed. See record-states.mjs. */
interface State {
  readonly journal: string
  readonly bytes: number
  readonly changes: Readonly<Record<string, Content | null>>
}

/** What a command printed. */
interface View {
  readonly args: readonly string[]
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** How a run has ended, without times and ids. */
interface Result extends Pick<Finished, 'code' | 'answers' | 'shown' | 'files'> {
  readonly outputs: readonly unknown[]
  /** Subject and tree of each commit. */
  readonly commits: readonly string[]
}

/** A recorded run, in test/fixtures/golden-runs. Paths are below the place where it was recorded. */
export interface GoldenRun {
  /** The newest run: `$RUN`. */
  readonly run: string
  readonly states: readonly State[]
  readonly journals: Readonly<Record<string, string>>
  /** The number of requests to the model. */
  readonly calls: number
  readonly views: readonly View[]
  readonly result: Result
}

/** Where a run is cut: it was killed when the record with this index had just been written. */
export interface Cut {
  readonly journal: string
  readonly index: number
  readonly kind: string
  readonly at: string
}

const kept = join(root, 'test/fixtures/golden-runs')

/** The names of the runs that are kept. */
export function goldenRunNames(): readonly string[] {
  return readdirSync(kept).map((file) => file.replace('.json.gz', ''))
}

export function readGoldenRun(name: string): GoldenRun {
  return JSON.parse(gunzipSync(readFileSync(join(kept, `${name}.json.gz`))).toString('utf8')) as GoldenRun
}

export function shapeOf(name: string): RunShape {
  const shape = runShapes[name]
  if (shape === undefined) throw new Error(`there is no shape ${name}`)
  return shape
}

const generalViews = [
  ['runs'],
  ['runs', '--json'],
  ['runs', 'show', '$RUN'],
  ['runs', 'show', '$RUN', '--json'],
  ['runs', 'show', '$RUN', '--all', '--place', 'task/0'],
  ['runs', 'show', '$RUN', '--diff'],
  ['run', '--replay', '$RUN'],
  ['run', '--replay', '$RUN', '--json'],
]

/**
 * Records the run of a shape with a build, what that build shows of it, and how the run ends where it is resumed from
 * its first record.
 * @param build the folder of the build, with `bin/baton.js`
 */
export async function recordGoldenRun(name: string, build: string): Promise<void> {
  const shape = shapeOf(name)
  const command = join(build, 'bin/baton.js')
  const recorded = await inPlace(`run-${name}`, async (place) => {
    const world = makeRunWorld(shape, place)
    const states = join(dirname(place), `${basename(place)}.states`)
    rmSync(states, { force: true })
    const server = await serve(shape)
    for (const { args, input, code = 0 } of shape.steps) {
      const preload = join(import.meta.dirname, 'record-states.mjs')
      const node = ['--import', preload]
      const env = { STATES: JSON.stringify({ place, file: states }) }
      const ended = await runCommand(withRun(args, runOf(shape, world)), { world, server, command, node, env, input })
      if (ended.code !== code) throw new Error(`${name}: exit ${ended.code}\n${ended.stdout}${ended.stderr}`)
    }
    await server.close()
    const run = runOf(shape, world)
    const views: View[] = []
    for (const args of [...generalViews, ...(shape.views ?? [])])
      views.push(await viewOf(args, { world, run, command }))
    const journals = Object.fromEntries(
      journalsIn(world).map((path) => [path, readFileSync(join(place, path), 'utf8')]),
    )
    const lines = readFileSync(states, 'utf8').split('\n').filter(Boolean)
    rmSync(states)
    const all = lines.map((line) => JSON.parse(line) as State)
    return { run, states: all, journals, calls: server.requests.length, views }
  })
  const golden: GoldenRun = {
    ...recorded,
    result: { code: 0, answers: [], shown: [], files: {}, outputs: [], commits: [] },
  }
  const [first] = cutsOf(name, golden)
  if (first === undefined) throw new Error(`${name} has no record`)
  const { result, calls, unpaid, said } = await resumeAt(name, first, { golden, command })
  if (result.code !== 0 || calls !== unpaid) throw new Error(`${name} makes ${calls} calls, not ${unpaid}: ${said}`)
  keep(name, { ...golden, result })
}

/** Replaces only what is shown of a run by what the build of this repository shows. */
export async function recordViews(name: string): Promise<void> {
  const golden = readGoldenRun(name)
  keep(name, { ...golden, views: await viewsOf(name, { golden }) })
}

function keep(name: string, golden: GoldenRun): void {
  mkdirSync(kept, { recursive: true })
  writeFileSync(join(kept, `${name}.json.gz`), gzipSync(JSON.stringify(golden), { level: 9 }))
}

/** The records at which a run can be cut, in order. */
export function cutsOf(name: string, { run, journals }: GoldenRun): readonly Cut[] {
  const { lost } = shapeOf(name)
  return Object.entries(journals)
    .filter(([path]) => path.includes(`/${run}/`))
    .flatMap(([journal, text]) =>
      recordsIn(text).flatMap(({ record: { k, p, kind, name } }, index): readonly Cut[] => {
        // it is not begun before its sources are recorded
        if (['seg', 'run.start', 'source', 'seal'].includes(k)) return []
        const what = [k, kind ?? name].filter((one) => one !== undefined).join(' ')
        return [
          { journal, index, kind: what, at: `${basename(journal, '.jsonl')} ${index}: ${what} ${p ?? ''}`.trim() },
        ]
      }),
    )
    .filter(({ at }) => lost?.test(at) !== true)
}

/** Some of the cuts, each after another kind of record, spread over the run. The same for each call. */
export function someCutsOf(name: string, golden: GoldenRun, count: number): readonly Cut[] {
  const cuts = cutsOf(name, golden)
  const kinds = [...new Set(cuts.map(({ kind }) => kind))]
  const middles = kinds.map((wanted) => {
    const same = cuts.filter(({ kind }) => kind === wanted)
    return same[Math.floor(same.length / 2)] as Cut
  })
  const all = cuts.filter((cut) => middles.includes(cut))
  const step = Math.max(1, all.length / count)
  return Array.from({ length: Math.min(count, all.length) }, (_, index) => all[Math.floor((index + 0.5) * step)] as Cut)
}

interface ResumeOptions {
  readonly golden: GoldenRun
  /** The entry file of a build, or a process that runs it. Default: the build of this repository. */
  readonly command?: string | WarmCommand
}

/** Restores what a kill at a cut has left, and resumes it. */
export function resumeAt(
  name: string,
  cut: Cut,
  { golden, command }: ResumeOptions,
): Promise<{ readonly result: Result; readonly calls: number; readonly unpaid: number; readonly said: string }> {
  const shape = shapeOf(name)
  return inPlace(`run-${name}`, async (place) => {
    const server = await serve(shape)
    const world = restore(golden, place, cut)
    const resume = ['resume', golden.run, '--json', '-y']
    let ended = await runCommand(resume, { world, server, command })
    // what was started and not done is not known: no command had done anything when the run was killed
    const ids = [...new Set([...ended.stderr.matchAll(/--uncertain (\d+\.\d+)=redo/g)].map(([, id]) => id ?? ''))]
    const choices = ids.flatMap((id) => ['--uncertain', `${id}=redo`])
    if (ended.code === 5 && ids.length > 0)
      ended = await runCommand([...resume, ...choices], { world, server, command })
    await server.close()
    const said = `${ended.stderr}${ended.stdout.slice(-2000)}`
    return {
      result: resultOf(world, ended),
      calls: server.requests.length,
      unpaid: golden.calls - paidAt(golden, cut),
      said,
    }
  })
}

/** What the build shows of a whole run, as views of the same commands. `change`: files of the author that differ now. */
export function viewsOf(
  name: string,
  { golden, command, change = {} }: ResumeOptions & { readonly change?: Readonly<Record<string, string>> },
): Promise<readonly View[]> {
  return inPlace(`run-${name}`, async (place) => {
    const world = restore(golden, place)
    writeTree(world.workspace, change)
    const views: View[] = []
    for (const { args } of golden.views) views.push(await viewOf(args, { world, run: golden.run, command }))
    return views
  })
}

type RequestBody = NonNullable<ModelServer['requests'][number]['body']>

/** The bodies of the requests that a build makes for a shape, run anew. */
export function requestsOf(name: string, command: WarmCommand): Promise<readonly RequestBody[]> {
  const shape = shapeOf(name)
  return inPlace(`run-${name}`, async (place) => {
    const world = makeRunWorld(shape, place)
    const server = await serve(shape)
    for (const { args, input, code = 0 } of shape.steps) {
      const ended = await runCommand(withRun(args, runOf(shape, world)), { world, server, command, input })
      if (ended.code !== code) throw new Error(`${name}: exit ${ended.code}\n${ended.stdout}${ended.stderr}`)
    }
    await server.close()
    return server.requests.flatMap(({ body }) => body ?? [])
  })
}

/** The number of model calls whose answers are recorded at a cut. */
function paidAt(golden: GoldenRun, cut: Cut): number {
  const paid = new Set<string>()
  for (const [journal, text] of Object.entries(golden.journals)) {
    const isLater = isOf(golden.run, journal) && journal > cut.journal
    const records = isLater ? [] : recordsIn(text).slice(0, journal === cut.journal ? cut.index + 1 : undefined)
    for (const { record } of records) {
      if (record.k === 'ended' && record.kind === 'model') paid.add(`${dirname(journal)} ${record.p}`)
    }
  }
  return paid.size
}

function isOf(run: string, journal: string): boolean {
  return journal.includes(`/${run}/`)
}

/** Writes the files as they were when the record of a cut, or the last record, had been written, and signs them. */
function restore({ run, states, journals }: GoldenRun, place: string, cut?: Cut): World {
  const world = makeWorldOf({}, place)
  const length = cut === undefined ? undefined : recordsIn(journals[cut.journal] ?? '')[cut.index]?.end
  const last = states.findIndex(({ journal, bytes }) => journal === cut?.journal && bytes >= (length ?? 0))
  const files = new Map<string, Content>()
  for (const { changes } of last === -1 ? states : states.slice(0, last + 1)) {
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) files.delete(path)
      else files.set(path, content)
    }
  }
  for (const [path, content] of [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    writeContent(join(place, path), content)
  }
  const key = openSigningKey({ env: { BATON_HOME: world.home }, home: world.home })
  const folders = new Set<string>()
  for (const [path, text] of Object.entries(journals)) {
    const isHere =
      existsSync(dirname(join(place, path))) && !(cut !== undefined && isOf(run, path) && path > cut.journal)
    if (!isHere) continue
    writeFileSync(join(place, path), path === cut?.journal ? text.slice(0, length) : text)
    // it was written long ago, on a machine that is not visible from here
    utimesSync(join(place, path), 0, 0)
    folders.add(dirname(join(place, path)))
  }
  for (const folder of folders) signRun(folder, key)
  for (const folder of folders) for (const file of readdirSync(folder)) utimesSync(join(folder, file), 0, 0)
  return world
}

function writeContent(path: string, content: Content): void {
  if (path.endsWith('/')) return void mkdirSync(path, { recursive: true })
  mkdirSync(dirname(path), { recursive: true })
  if (typeof content === 'string') return writeFileSync(path, content)
  if ('link' in content) return symlinkSync(content.link, path)
  const { text, base64 = '', isProgram } = content
  writeFileSync(path, text ?? Buffer.from(base64, 'base64'))
  if (isProgram) chmodSync(path, 0o755)
}

function recordsIn(journal: string): readonly { readonly record: Noted; readonly end: number }[] {
  let end = 0
  return journal
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      end += line.length + 1
      return { record: JSON.parse(line.slice(9)) as Noted, end }
    })
}

function makeRunWorld({ files, isRepository }: RunShape, place: string): World {
  const world = makeWorldOf(files, place)
  if (isRepository !== true) return world
  writeFileSync(
    join(world.home, '.gitconfig'),
    '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n',
  )
  makeRepository(world.workspace, world.home)
  return world
}

function serve({ answer }: RunShape): Promise<ModelServer> {
  return startModelServer(({ body }) => {
    const messages = body?.messages ?? []
    const said = (wanted: string): readonly string[] =>
      messages.filter(({ role }) => role === wanted).map(({ content }) => content ?? '')
    const asked: Asked = {
      model: body?.model ?? '',
      who: said('user')[0] ?? '',
      turn: said('assistant').length,
      told: said('user').join('\n'),
      results: said('tool'),
    }
    return answer(asked)
  })
}

/** The runs of the world by age. */
function runOf({ isFirst }: RunShape, world: World): string {
  const runs = [...new Set(journalsIn(world).map((path) => basename(dirname(path))))].toSorted()
  return (isFirst === true ? runs[0] : runs.at(-1)) ?? ''
}

/** The paths of all journals below the place of a world. */
function journalsIn({ home }: World): readonly string[] {
  const runs = join(home, 'state/runs')
  if (!existsSync(runs)) return []
  const files = readdirSync(runs, { recursive: true, encoding: 'utf8' })
  return files
    .filter((path) => /(?:^|\/)j-\d+\.jsonl$/.test(path))
    .map((path) => join('home/state/runs', path))
    .toSorted()
}

function withRun(args: readonly string[], run: string): readonly string[] {
  return args.map((arg) => arg.replace('$RUN', run))
}

interface CommandOptions {
  readonly world: World
  readonly server?: ModelServer
  readonly command?: string | WarmCommand | undefined
  readonly node?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | undefined
}

function runCommand(
  args: readonly string[],
  { world, server, command, node = [], env: more = {}, input }: CommandOptions,
): Promise<BatonResult> {
  const host = server?.host ?? '127.0.0.1:9999'
  const env = {
    HOME: world.home,
    BATON_HOME: world.home,
    // a key is not recorded, so that the record does not depend on the port of the server, which every start has its own of
    BATON_GATEWAY_URL: `http://${host}/v1`,
    BATON_GATEWAY_KEY: host,
    GIT_CONFIG_NOSYSTEM: '1',
    TMPDIR: tmpdir(),
    TZ: 'UTC',
    LC_ALL: 'C',
    ...more,
  }
  if (command === undefined)
    return baton(args, { cwd: world.workspace, env, ...(input === undefined ? {} : { input }) })
  const all = { PATH: process.env['PATH'], NO_COLOR: '1', BATON_LOCAL_SERVERS: 'off', ...env }
  if (typeof command !== 'string') {
    const given = inputOf(args, input)
    const warm = given === 'own' ? undefined : command.run({ args, cwd: world.workspace, env: all, ...given })
    if (warm === undefined) throw new Error(`the shared process cannot run ${args.join(' ')}`)
    return warm.then((ended) => ({ ...ended, home: world.home }))
  }
  const child = spawn(process.execPath, [...node, command, ...args], { cwd: world.workspace, env: all })
  child.stdin.on('error', () => undefined).end(input)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece))
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr, home: world.home }))
  })
}

async function viewOf(
  args: readonly string[],
  { run, ...options }: CommandOptions & { readonly run: string },
): Promise<View> {
  const { code, stdout, stderr } = await runCommand(withRun(args, run), options)
  if (!args.includes('--replay')) return { args, code, stdout, stderr }
  return { args, code, stdout: repeatable(stdout), stderr: repeatable(stderr) }
}

/** Fields of events that the version that recorded did not have. A replay sends its events again, with all of today's. */
const laterFields = /("type":"ensemble\.completed",)"ids":\[[^\]]*\],/g

/** A replay works again: without times and numbers, and without the order of what happens at the same time. */
function repeatable(printed: string): string {
  return printed
    .replaceAll(laterFields, '$1')
    .replaceAll(/"seq":\d+,"ts":"[^"]*",/g, '')
    .replaceAll(/\S*\/baton-replay-\w+/g, 'REPLAY')
    .split('\n')
    .toSorted()
    .join('\n')
}

function resultOf(world: World, ended: BatonResult): Result {
  const { code, answers, shown, files, last } = finishedIn(world, ended)
  const own = Object.entries(files).filter(([path]) => !path.startsWith('.git/'))
  const commits = existsSync(join(world.workspace, '.git/HEAD'))
    ? gitIn(world.workspace, world.home)('log', '--format=%s %T').split('\n')
    : []
  return { code, answers, shown, files: Object.fromEntries(own), outputs: last?.outputs ?? [], commits }
}
