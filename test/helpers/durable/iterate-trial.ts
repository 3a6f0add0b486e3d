import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jsonLines } from '../baton.ts'
import { gitIn, iteratedPrompt, makeRepository } from '../git-world.ts'
import { type ModelServer, startModelServer } from '../model-server.ts'
import { tempTree } from '../temp.ts'
import { readJournal } from './journal-state.ts'
import type { Disturbance } from './play.ts'
import { makeWorldOf, type World } from './scenario.ts'
import { startOver, type Trial } from './trial.ts'

/** How a run of three iterations that commits is killed. */
export type IterateKill =
  /** At an operation on its journal, or on files of the workspace. */
  | { readonly kind: 'operation'; readonly disturb: Disturbance }
  /**
   * From within git, at the n-th hook that it runs, from 1. `on`: git continues on its own; `late`: it continues after
   * the run was resumed; `gone`: it is killed as well.
   */
  | { readonly kind: 'hook'; readonly at: number; readonly git: 'on' | 'late' | 'gone' }

/** The result of a trial. */
export interface IterateTrial extends Trial {
  /** Subject and tree of each commit at the end, oldest first: they do not depend on the time of the commit. */
  readonly commits: readonly string[]
  /** Operations of the first start on the journal or the files. */
  readonly operations: number
  /** The hooks that git ran: name and first argument. */
  readonly hooks: readonly string[]
}

const count = 3
const hookNames = [
  'post-index-change',
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'reference-transaction',
  'post-commit',
]

/** Each iteration makes, changes, renames and deletes a file. */
function answerTo(iteration: number): string {
  return `Step ${iteration}.

<FILE_CHANGES>
<FILE_NEW file_path="made/${iteration}.txt">
made ${iteration}
</FILE_NEW>
<FILE_PATCH file_path="list.txt">
@@
-line ${iteration}
+line ${iteration}, done
</FILE_PATCH>
<FILE_RENAME from_path="old/${iteration}.txt" to_path="moved/${iteration}.txt" />
<FILE_DELETE file_path="gone/${iteration}.txt" />
</FILE_CHANGES>
`
}

function makeIterateWorld(): World {
  const world = makeWorldOf(
    {
      'baton.toml': '',
      'ask.md': iteratedPrompt(`condition = "${count}"\ncommits = true`, {
        front: 'context_globs = ["list.txt", "old/*.txt", "gone/*.txt"]',
      }),
      'list.txt': 'line 0\nline 1\nline 2\n',
      ...Object.fromEntries(
        [0, 1, 2].flatMap((number) => [
          [`old/${number}.txt`, `a text of its own ${number}\n`],
          [`gone/${number}.txt`, `gone ${number}\n`],
        ]),
      ),
    },
    tempTree(),
  )
  writeFileSync(
    join(world.home, '.gitconfig'),
    '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n',
  )
  makeRepository(world.workspace, world.home)
  return world
}

/** Without hooks, which would kill the trial instead of the run. */
function gitOf({ workspace, home }: World): (...args: readonly string[]) => string {
  const git = gitIn(workspace, home)
  return (...args) => git('-c', 'core.hooksPath=/dev/null', ...args)
}

/** Hooks that count themselves and kill the command that runs git at the requested hook. */
function writeHooks({ workspace, outside }: World, kill: IterateKill | undefined): void {
  const ends = { on: '', late: 'while ! test -e "$out/go"; do sleep 0.05; done; sleep 0.3', gone: 'kill -9 "$PPID"' }
  const then = kill?.kind === 'hook' ? ends[kill.git] : ''
  const script = `#!/bin/sh
out='${outside}'
test "$(basename "$0")" = reference-transaction && cat > "$out/input"
echo "$(basename "$0") $1" >> "$out/hooks"
test "$(wc -l < "$out/hooks")" -eq ${kill?.kind === 'hook' ? kill.at : 0} || exit 0
echo "$PPID" > "$out/git"
kill -9 "$(ps -o ppid= -p "$PPID" | tr -d ' ')"
${then}
exit 0
`
  const folder = join(workspace, '.git/hooks')
  mkdirSync(folder, { recursive: true })
  for (const name of hookNames) writeFileSync(join(folder, name), script, { mode: 0o755 })
  writeFileSync(join(outside, 'hooks'), '')
}

function commitsOf(world: World): readonly string[] {
  return gitOf(world)('log', '--reverse', '--format=%s %T').split('\n')
}

/**
 * Kills at each of these hooks. If git is killed while it changes a branch, it leaves locks behind that only the user
 * may remove.
 */
export function iterateKills(hooks: readonly string[]): readonly Extract<IterateKill, { readonly kind: 'hook' }>[] {
  const ways = ['on', 'late', 'gone'] as const
  return hooks.flatMap((hook, index) =>
    ways
      .filter((git) => git !== 'gone' || hook !== 'reference-transaction prepared')
      .map((git) => ({ kind: 'hook', at: index + 1, git }) as const),
  )
}

/** Runs it, kills it, and resumes it until it ends; then checks commits, records and what was paid. */
export async function tryIterate(kill: IterateKill | undefined, expected?: readonly string[]): Promise<IterateTrial> {
  const server = await startModelServer(({ body }) => ({ text: answerTo(iterationOf(body?.messages.at(-1)?.content)) }))
  try {
    return await tryWith(kill, expected, server)
  } finally {
    await server.close()
  }
}

function iterationOf(prompt = ''): number {
  return Number(/^Iteration: (\d+) of 3$/m.exec(prompt)?.[1] ?? 0)
}

async function tryWith(
  kill: IterateKill | undefined,
  expected: readonly string[] | undefined,
  server: ModelServer,
): Promise<IterateTrial> {
  const world = makeIterateWorld()
  const problems: string[] = []
  const asked = (): readonly number[] =>
    [0, 1, 2].map(
      (one) => server.requests.filter(({ body }) => iterationOf(body?.messages.at(-1)?.content) === one).length,
    )
  const paid = new Set<number>()
  writeHooks(world, kill)
  let stops = 0
  let operations = 0
  const disturbances = [kill?.kind === 'operation' ? kill.disturb : undefined, undefined, undefined]
  for (const [index, disturb] of disturbances.entries()) {
    const before = asked()
    // git that was not killed continues while the run is resumed
    if (index > 0) writeFileSync(join(world.outside, 'go'), '')
    const played = await startOver(world, { world, url: server.url, ...(disturb && { disturb }) })
    if (index === 0) operations = played.operations.length
    for (const [iteration, times] of asked().entries()) {
      if (paid.has(iteration) && times !== before[iteration]) problems.push(`iteration ${iteration} was paid again`)
    }
    const journal = await readJournal(world)
    for (const { k, kind, status, p = '' } of journal?.records ?? []) {
      const [, iteration] = /^iteration\/(\d+)\//.exec(p) ?? []
      if (k === 'ended' && kind === 'model' && status === 'ok' && iteration !== undefined) paid.add(Number(iteration))
    }
    if (played.code === null) {
      stops += 1
      continue
    }
    if (played.code !== 0) {
      problems.push(`exit ${played.code}: ${played.stderr}${played.stdout.slice(-500)}`)
      continue
    }
    const events = jsonLines(played.stdout)
    const result = events.findLast(({ type }) => type === 'iterate.completed')?.['result'] as
      | { readonly records: readonly { readonly commit_id?: string; readonly changed_files: readonly string[] }[] }
      | undefined
    const ids = gitOf(world)('log', '--reverse', '--format=%H').split('\n').slice(1)
    const recorded = result?.records.map((one) => one.commit_id ?? 'none') ?? []
    if (recorded.join() !== ids.join()) problems.push(`recorded commits are ${recorded.join()}, not ${ids.join()}`)
    const warnings = events.flatMap((event) => (event['type'] === 'warning' ? [String(event['message'])] : []))
    if (warnings.length > 0) problems.push(`warnings: ${warnings.join(' | ')}`)
    break
  }
  await settled(world)
  const commits = commitsOf(world)
  if (expected !== undefined && commits.join('\n') !== expected.join('\n')) {
    problems.push(`commits are\n${commits.join('\n')}\nnot\n${expected.join('\n')}`)
  }
  const status = gitOf(world)('status', '--porcelain')
  if (status !== '') problems.push(`left behind: ${status}`)
  const more = asked().filter((times) => times > 2)
  if (more.length > 0) problems.push(`asked too often: ${asked().join()}`)
  const hooks = readFileSync(join(world.outside, 'hooks'), 'utf8').trim().split('\n')
  return { problems, stops, operations, hooks, commits }
}

/** The orphaned git may still be running. */
async function settled({ outside }: World): Promise<void> {
  const file = join(outside, 'git')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8'))
  for (let waited = 0; waited < 200 && isAlive(pid); waited += 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
